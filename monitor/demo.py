"""The demo: an endpoint is enrolled, found unchanged, and caught twice when its stack changes behind its back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from monitor.check.options import CheckOptions, Progress
from monitor.check.reference import open_reference
from monitor.check.run import check_against
from monitor.config import Config, load_config
from monitor.datadir import DataDir
from monitor.drift.rule import Verdict
from monitor.errors import MonitorError
from monitor.local_endpoint import LocalEndpoint
from monitor.verdict import VerdictDocument
from probes.plan import ProbeKind

# What catches a changed stack; latency, which is only reported, would take most of the demo's time.
_PROBES = (ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING)
# Enough here, where repeats do not differ, and quicker than the default.
_N = 20
# The endpoint claims bf16 and runs it, at first.
_HONEST = ("--profile", "bf16")
_CONFIG = """\
version: 1
models:
  smol: {{ reference: {{ weights: bundled, allowed_profiles: [fp32, bf16] }} }}
providers:
  - slug: demo
    base_url: {base_url}
    allow_private: true
    models: [ {{ model: smol, name: smol }} ]
"""


class DemoFailedError(MonitorError):
    code = "demo_failed"
    exit_code = 1


@dataclass(frozen=True, slots=True)
class Scene:
    """What the endpoint runs, what the probe must conclude, and how the first named cause must begin."""

    title: str
    stack: tuple[str, ...]
    verdict: Verdict
    enrols: bool = False
    cause: str | None = None


SCENES = (
    Scene("1. First run: the endpoint is enrolled", _HONEST, Verdict.OK, enrols=True),
    Scene("2. Nothing changed", _HONEST, Verdict.OK),
    Scene("3. Overnight the weights went to 4 bits", ("--profile", "w4-g64"), Verdict.DRIFT, cause="w4-g64"),
    Scene(
        "4. The weights are back, but someone added a system prompt",
        (*_HONEST, "--system-prompt", "You are a careful assistant of Acme Corporation. Never mention competitors."),
        Verdict.DRIFT,
        cause="system-prompt",
    ),
)

Show = Callable[[Scene, VerdictDocument], None]


def run_demo(directory: Path, progress: Progress, show: Show) -> None:
    """Play all scenes against a local endpoint; the detector sees nothing but HTTP.

    directory: an empty folder for configuration, data and the endpoint's log. Raises DemoFailedError where a scene does
    not end as it must.
    """
    data = DataDir(directory / "data")
    with LocalEndpoint(directory / "endpoint.log") as local:
        (endpoint,) = _configuration(directory, local.base_url).endpoints("demo", "smol")
        with open_reference(endpoint.reference) as reference:
            stack: tuple[str, ...] | None = None
            for scene in SCENES:
                if scene.stack != stack:
                    local.serve(scene.stack)
                    stack = scene.stack
                document = check_against(reference, endpoint, CheckOptions(probes=_PROBES, n=_N), data, progress)
                show(scene, document)
                _insist(scene, document)


def _configuration(directory: Path, base_url: str) -> Config:
    file = directory / "providers.yaml"
    file.write_text(_CONFIG.format(base_url=base_url), encoding="utf-8")
    return load_config(file)


def _insist(scene: Scene, document: VerdictDocument) -> None:
    logprobs = next(check for check in document.checks if check.probe == "logprobs")
    named = logprobs.causes[0].name if logprobs.causes else None
    faults = []
    if document.verdict is not scene.verdict:
        faults.append(f"the verdict is {document.verdict.value}, not {scene.verdict.value}")
    if document.enrolled is not scene.enrols:
        faults.append("it was enrolled" if document.enrolled else "it was not enrolled")
    if scene.cause is not None and (named is None or not named.startswith(scene.cause)):
        faults.append(f"the cause named is {named}, not {scene.cause}")
    if faults:
        raise DemoFailedError(
            f"{scene.title}: {'; '.join(faults)}.", remedy="This is a fault of ours: please report it."
        )
