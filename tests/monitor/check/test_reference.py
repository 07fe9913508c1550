"""What an endpoint is held against is the same reference, whether this process computes it or a service does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from monitor.check.options import CheckOptions, Silent
from monitor.check.reference import open_reference
from monitor.check.run import run_check
from monitor.config import ReferenceConfig, load_config
from monitor.datadir import DataDir
from monitor.drift.rule import Verdict
from monitor.expectation import all_candidates, expect
from monitor.local_endpoint import LocalEndpoint
from probes.plan import ProbeKind
from reference_engine import EngineError
from reference_engine.profile import FURTHER_PROFILES
from reference_engine.server.socket_file import bind_socket_file
from tests.reference_engine.pool_server import running_pool
from tests.reference_engine.tiny_models import write_tiny_model

MESSAGES = {"a": [{"role": "user", "content": "then"}], "b": [{"role": "user", "content": "an é"}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"), "llama").folder


@pytest.fixture
def service_url(tmp_path: Path) -> Iterator[str]:
    with running_pool(bind_socket_file(tmp_path / "pool.sock")):
        yield f"unix:{tmp_path / 'pool.sock'}"


def test_identity_and_expectations_are_the_same_to_the_last_bit(
    folder: Path, service_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ReferenceConfig(weights=folder, tokenizer=None, allowed_profiles=("fp32", "bf16"))
    found = []
    for url in ("", service_url):
        monkeypatch.setenv("MONITOR_REFERENCE_URL", url)
        with open_reference(config) as reference:
            assert reference.engine is not None
            made = expect(reference.engine, "fp32", all_candidates(reference.engine), MESSAGES, {})
            values = {
                key: (
                    one.token_ids,
                    one.reference_tokens,
                    {name: one.expected[name].tobytes() for name in one.expected},
                )
                for key, one in made.items()
            }
            found.append((reference.identity, reference.allowed, values))

    assert found[0] == found[1]


def test_a_tokenizer_alone_can_be_the_services_too(
    folder: Path, service_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ReferenceConfig(weights=None, tokenizer=folder / "tokenizer.json", allowed_profiles=())
    counts = []
    for url in ("", service_url):
        monkeypatch.setenv("MONITOR_REFERENCE_URL", url)
        with open_reference(config) as reference:
            assert reference.engine is None
            assert reference.tokenizer is not None
            counts.append(len(reference.tokenizer.render(MESSAGES["b"]).ids))

    assert counts[0] == counts[1]


def test_a_service_that_is_told_a_wrong_token_is_a_reference_that_cannot_be_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ReferenceConfig(weights=folder, tokenizer=None, allowed_profiles=("fp32",))
    monkeypatch.setenv("MONITOR_REFERENCE_URL", f"unix:{tmp_path / 'locked.sock'}")
    with running_pool(bind_socket_file(tmp_path / "locked.sock"), token="right"):
        monkeypatch.setenv("MONITOR_REFERENCE_TOKEN", "canary")
        with pytest.raises(EngineError, match="refuses the token") as caught:
            open_reference(config)
        monkeypatch.setenv("MONITOR_REFERENCE_TOKEN", "right")
        open_reference(config).__exit__(None, None, None)

    assert "canary" not in str(caught.value)
    assert caught.value.exit_code == 6


def test_a_process_that_asks_a_service_does_not_load_the_tensor_library(
    folder: Path, service_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONITOR_REFERENCE_URL", service_url)
    code = (
        "import sys; from pathlib import Path; from monitor.check.reference import open_reference; "
        "from monitor.config import ReferenceConfig; "
        f"open_reference(ReferenceConfig(Path({str(folder)!r}), None, ('fp32',))); "
        "sys.exit('torch' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture(scope="module")
def another_stack(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An endpoint with the same weights in four bits."""
    with LocalEndpoint(tmp_path_factory.mktemp("endpoint") / "log") as local:
        local.serve(["--model", str(folder), "--profile", "w4-g64"])
        yield local.base_url


@pytest.mark.parametrize("allowed", FURTHER_PROFILES)
def test_causes_are_sought_beside_whichever_profile_is_allowed(
    folder: Path, another_stack: str, tmp_path: Path, allowed: str
) -> None:
    models = {"tiny": {"reference": {"weights": str(folder), "allowed_profiles": [allowed]}}}
    served = [{"model": "tiny", "name": "tiny"}]
    provider = {"slug": "x", "base_url": another_stack, "allow_private": True, "models": served}
    (tmp_path / "providers.yaml").write_text(yaml.safe_dump({"version": 1, "models": models, "providers": [provider]}))
    (endpoint,) = load_config(tmp_path / "providers.yaml").endpoints("x")
    options = CheckOptions(probes=(ProbeKind.LOGPROBS,), n=60)

    document = run_check(endpoint, options, DataDir(tmp_path / "data"), Silent())

    found = document.fidelity
    assert found is not None
    assert (found.verdict, found.allowed) == (Verdict.SUSPECT, (allowed,))
    assert found.nearest is not None


def test_a_reference_is_another_one_where_another_profile_is_allowed_that_is_not_always_measured(folder: Path) -> None:
    def fingerprint(*allowed: str) -> str:
        with open_reference(ReferenceConfig(weights=folder, tokenizer=None, allowed_profiles=allowed)) as reference:
            assert reference.identity is not None
            return reference.identity.fingerprint

    always = {fingerprint(), fingerprint("fp32"), fingerprint("bf16", "nf4")}
    assert len(always) == 1
    assert len(always | {fingerprint("w8a8"), fingerprint("fp32", "fp64")}) == 3
