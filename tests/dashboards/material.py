"""A month in the life of an installation: endpoints that drift, fail, fall silent, are new, in maintenance or fine, and
texts from people who would like to be markup."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy.orm import Session

from monitor.alerts.rule import rules_for
from monitor.alerts.signals import Tick
from monitor.check.recall import with_said
from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.deliveries.attempt import Tried
from monitor.deliveries.dispatch import Dispatch
from monitor.deliveries.routes import Routes
from monitor.drift.cause import Cause
from monitor.drift.interval import Interval
from monitor.drift.rule import Verdict
from monitor.store import (
    CheckRequest,
    EndpointIdentity,
    EndpointRecord,
    Enrol,
    EvidenceRecord,
    MetricPoint,
    RunResult,
    RunStart,
    RunStatus,
    Store,
    Trigger,
)
from monitor.store import queue as queue_rows
from monitor.store import runs as run_rows
from monitor.store.alert_history import check_signals
from monitor.store.alerts import Alerts, apply_signals
from monitor.store.beats import Beats
from monitor.store.changes import log_change
from monitor.store.config import ConfigObjects
from monitor.store.deliveries import Deliveries
from monitor.store.observations import observation_rows
from monitor.store.vocabulary import ChangeKind
from monitor.verdict import ParameterValue, ProtocolStatement, RateValue, Said, StackHint, VariantRates
from monitor.worker.canary import CONNECTIVITY, Connectivity
from monitor.worker.tick import TICKING, Ticking
from probes.parameters.judgement import Effect
from probes.plan import ProbeKind
from tests.monitor.store.material import REFERENCE, observation

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
# Turns the text around it the other way in a browser that obeys it.
TURNING = "\u202egnp.exe"
EVERY = timedelta(hours=6)
_DRIFTED = (Verdict.DRIFT, Verdict.SUSPECT)
RIGHT = RateValue(name="oracle_met", value=0.75, numerator=30, denominator=40, method="wilson", reference=0.975)
SAID = Said(
    rates=(RIGHT,),
    variants=tuple(
        VariantRates(probe="tool_calls", variant=variant * 16, share=share, n=n, rates=(RIGHT,), p=p)
        for variant, share, n, p in (("a", 0.75, 30, 1.0), ("b", 0.25, 10, 2e-6))
    ),
    parameters=(
        ParameterValue(name="stop", effect=Effect.ACTS, reason="cut where it stands"),
        ParameterValue(name="n", effect=Effect.IGNORED, before=Effect.ACTS, reason=HOSTILE),
    ),
    protocol=ProtocolStatement(hints=(StackHint(stack="vLLM", reasons=(HOSTILE,)),), caching="fresh", replays=8),
)

CONFIG = """
version: 1
defaults: {{ every: 6h }}
models:
  lark-30b: {{}}
  wren-8b: {{}}
providers:
  - {{ slug: acme, base_url: https://api.acme.test/v1, models: [
      {{ model: lark-30b, name: acme/lark-30b, labels: {{ tier: prod }} }}, {{ model: wren-8b, name: wren }} ] }}
  - {{ slug: hooli, base_url: https://llm.hooli.test/v1, models: [
      {{ model: lark-30b, name: lark }}, {{ model: wren-8b, name: wren-8b-instruct }} ] }}
  - {{ slug: initech, base_url: https://initech.test/v1, models: [
      {{ model: lark-30b, name: lark }}, {{ model: wren-8b, name: wren }} ] }}
  - {{ slug: umbrella, base_url: https://umbrella.test/v1, models: [ {{ model: wren-8b, name: umbrella/wren }} ] }}
channels:
  - {{ id: ops, url: https://hooks.ops.test/in, format: slack }}
  - {{ id: broken, url: https://hooks.broken.test/in, format: slack }}
routes: [ {{ id: everything, to: [ops, broken], group_wait: 1s }} ]
maintenance: [ {{ id: window, match: {{ provider: umbrella }}, starts: "{starts}", duration: 4h }} ]
"""


@dataclass(frozen=True)
class Found:
    """What one check came to. `error` is the code of one that failed; `shift` and `fidelity` are in nats. `suite` is
    the private suite that was asked, and nothing else then."""

    at: datetime
    verdict: Verdict = Verdict.OK
    shift: float | None = 0.002
    fidelity: float | None = 0.013
    trigger: Trigger = Trigger.SCHEDULE
    error: str | None = None
    causes: tuple[Cause, ...] = ()
    enrols: bool = False
    suite: str = ""


@dataclass
class Installation:
    """The database of `filled`; `endpoints` by their story."""

    store: Store
    now: datetime
    endpoints: dict[str, EndpointRecord] = field(default_factory=dict)

    @property
    def alerts(self) -> Alerts:
        return Alerts(self.store.sessions)


def filled(store: Store, folder: Path, now: datetime) -> Installation:
    """Everything as of `now`, with a worker that has just ticked."""
    installation = Installation(store, now)
    _configure(store, folder, now)
    past = list(_slots(now))
    # A month of every story would take as long as all the tests together.
    recent = past[-48:]
    rng = random.Random(7)
    _story(installation, "fine", "acme", "wren-8b", "wren", steady(recent, rng))
    _story(installation, "drifting", "acme", "lark-30b", "acme/lark-30b", drifting(past, rng), {"tier": "prod"})
    _story(installation, "failing", "hooli", "lark-30b", "lark", failing(recent, rng))
    _story(installation, "silent", "hooli", "wren-8b", "wren-8b-instruct", steady(recent[:-16], rng))
    _story(
        installation,
        "new",
        "initech",
        "wren-8b",
        "wren",
        [Found(past[-1], Verdict.INCONCLUSIVE, None, None, enrols=True)],
    )
    _story(installation, "kept", "umbrella", "wren-8b", "umbrella/wren", steady(recent[-8:], rng))
    _story(installation, "hostile", HOSTILE[:60], TURNING, HOSTILE, _hostile(past, rng), {"note": HOSTILE})
    _fall_silent(installation)
    _log_changes(installation)
    _tell(installation)
    work(store, now)
    return installation


def _configure(store: Store, folder: Path, now: datetime) -> None:
    path = folder / "providers.yaml"
    path.write_text(CONFIG.format(starts=(now - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S")), "utf-8")
    ConfigObjects(store.sessions).apply(objects_of(load_config(path)), actor="test", at=now - timedelta(days=30))


def _slots(now: datetime) -> Iterator[datetime]:
    """A month of them, with a day and a half in which nothing ran; the last one was five minutes ago."""
    last = now - timedelta(minutes=5)
    for number in reversed(range(30 * 4)):
        at = last - number * EVERY
        if not timedelta(days=16) < now - at < timedelta(days=17.5):
            yield at


def steady(slots: Sequence[datetime], rng: random.Random) -> list[Found]:
    first, *rest = slots
    enrolled = Found(first, Verdict.INCONCLUSIVE, None, enrols=True)
    return [enrolled, *(Found(at, shift=rng.uniform(0, 0.004), fidelity=rng.uniform(0.011, 0.016)) for at in rest)]


def drifting(slots: Sequence[datetime], rng: random.Random) -> list[Found]:
    before, after = slots[:-14], slots[-14:]
    causes = (Cause("w4-g64", 0.93), Cause("w8-channel", 0.07))

    def drifted(at: datetime) -> Found:
        return Found(at, Verdict.DRIFT, rng.uniform(0.6, 0.7), rng.uniform(0.62, 0.72), causes=causes)

    # A confirming run's prompts are new: nothing was answered before that a shift could be measured against.
    confirmed = replace(drifted(after[0] + timedelta(minutes=2)), trigger=Trigger.CONFIRM, shift=None)
    return [*steady(before, rng), drifted(after[0]), confirmed, *(drifted(at) for at in after[1:])]


def failing(slots: Sequence[datetime], rng: random.Random) -> list[Found]:
    return [*steady(slots[:-3], rng), *(Found(at, error="provider_auth") for at in slots[-3:])]


def _hostile(slots: Sequence[datetime], rng: random.Random) -> list[Found]:
    suspect = Found(slots[-1], Verdict.SUSPECT, 0.03, 0.2, causes=(Cause(HOSTILE, 0.9),))
    return [*steady(slots[-20:-1], rng), suspect]


def _story(
    installation: Installation,
    name: str,
    provider: str,
    model: str,
    served: str,
    checks: Sequence[Found],
    labels: Mapping[str, str] | None = None,
) -> None:
    identity = EndpointIdentity(provider, f"https://{name}.test/v1", model, served, labels=labels or {})
    installation.endpoints[name] = story(installation.store, identity, checks)


def story(store: Store, identity: EndpointIdentity, checks: Sequence[Found]) -> EndpointRecord:
    """An endpoint with these checks behind it, and the alerts that they lead to."""
    record = store.ensure_endpoint(identity, at=checks[0].at - timedelta(minutes=1))
    every = {**identity.labels, "provider": identity.provider_slug, "model": identity.model_slug}
    with store.sessions.write() as session:
        for found in checks:
            _check(session, record.id, found, every)
    return record


def _check(session: Session, endpoint_id: str, found: Found, labels: Mapping[str, str]) -> None:
    key = f"{endpoint_id}:{found.at.isoformat()}:{found.trigger}"
    request = CheckRequest(key, endpoint_id, found.trigger, found.at)
    claimed = queue_rows.enter_running(session, request, "test", found.at)
    start = _start(endpoint_id, claimed.entry.id, found)
    run_id = run_rows.begin(session, start, "test", found.at)
    ended = found.at + timedelta(seconds=30)
    kept = observation_rows(run_id, [observation("a")] if found.enrols else [])
    run_rows.finish(session, run_id, _result(found), kept, ended)
    queue_rows.finish(
        session,
        claimed.lease,
        status=RunStatus.FAILED if found.error else RunStatus.SUCCEEDED,
        verdict=None if found.error else found.verdict,
        enrolled=found.enrols,
        error_code=found.error,
        error=HOSTILE if found.error else None,
        at=ended,
    )
    session.flush()
    signals = check_signals(session, claimed.entry.id)
    apply_signals(session, endpoint_id, labels, signals, rules_for([], labels, EVERY), ended)


def _start(endpoint_id: str, check_id: str, found: Found) -> RunStart:
    return RunStart(
        endpoint_id=endpoint_id,
        check_id=check_id,
        probe=ProbeKind.EVALS if found.suite else ProbeKind.LOGPROBS,
        suite_sha256="0" * 64,
        suite_version=f"{found.suite}/1" if found.suite else "1",
        trigger=found.trigger,
        config_digest="c" * 64,
        code_version="0.1.0",
        planned=40,
        reference=REFERENCE,
    )


def _result(found: Found) -> RunResult:
    if found.error:
        return RunResult(RunStatus.FAILED, found.error)
    return RunResult(
        RunStatus.SUCCEEDED,
        tokens_in=812,
        tokens_out=40,
        cost_microusd=260,
        served_fingerprint="fp_9a1c",
        evidence=with_said([*_evidence(found)], SAID if found.verdict in _DRIFTED else Said()),
        metric_points=[
            MetricPoint(name, value, 20, Interval(value * 0.8, value * 1.25))
            for name, value in (("logprobs_shift", found.shift), ("fidelity", found.fidelity))
            if value is not None and not found.suite
        ],
        baseline=Enrol() if found.enrols else None,
    )


def _evidence(found: Found) -> Iterator[EvidenceRecord]:
    drifted = found.verdict in _DRIFTED
    if found.suite:
        yield EvidenceRecord("evals", "run-level", "1", found.verdict, counted=True, value=0.9, unit="rate", n=40)
        return
    yield EvidenceRecord(
        "logprobs",
        "run-level",
        "1",
        found.verdict,
        counted=True,
        reason="enrolled" if found.enrols else HOSTILE if found.verdict is Verdict.SUSPECT else None,
        p=2e-6 if drifted else 0.41,
        adjusted_p=4e-6 if drifted else 0.82,
        value=found.shift,
        unit="nat",
        interval=None if found.shift is None else Interval(found.shift * 0.8, found.shift * 1.25),
        baseline=0.0006,
        detectable=0.006,
        target=0.07,
        n=20,
        causes=found.causes,
    )
    counts = Verdict.INCONCLUSIVE if found.enrols else Verdict.OK
    yield EvidenceRecord(
        "accounting", "run-level", "1", counts, counted=True, value=0.0, unit="token", baseline=0.0, n=20
    )
    if found.fidelity is None:
        return
    outside = found.fidelity > 0.021
    yield EvidenceRecord(
        "fidelity",
        "run-level",
        "1",
        Verdict.SUSPECT if outside else Verdict.OK,
        counted=True,
        value=found.fidelity,
        unit="nat",
        interval=Interval(found.fidelity * 0.8, found.fidelity * 1.25),
        detectable=0.02,
        n=20,
        causes=found.causes,
        detail={"lawful": 0.021, "nearest": found.causes[0].name if found.causes else "bf16"},
    )


def _fall_silent(installation: Installation) -> None:
    record = installation.endpoints["silent"]
    labels = {"provider": record.provider, "model": record.model}
    at = installation.now - timedelta(minutes=1)
    tick = Tick(at, quiet_since=installation.now - 16 * EVERY)
    installation.alerts.apply(record.id, labels, [tick], rules_for([], labels, EVERY), at=at)


def _log_changes(installation: Installation) -> None:
    told = {
        "drifting": (ChangeKind.FINGERPRINT, "fp_9a1c became fp_2b77", 9),
        "hostile": (ChangeKind.CONFIG, HOSTILE, 2),
    }
    with installation.store.sessions.write() as session:
        for name, (kind, text, days) in told.items():
            log_change(session, installation.endpoints[name].id, kind, text, installation.now - timedelta(days=days))


def _tell(installation: Installation) -> None:
    """What the channels were told, by a receiver that takes everything and one that takes nothing."""
    config = ConfigObjects(installation.store.sessions).config()

    def answered(destination: object, *_: object) -> Tried:
        return Tried(500, "HTTP 500 " + HOSTILE) if "broken" in str(destination) else Tried(200)

    dispatch = Dispatch(Deliveries(installation.store.sessions), Routes.of(config.file), send=answered)
    dispatch.fan_out(installation.now)
    dispatch.flush_due(installation.now + timedelta(minutes=1))
    for delivery_id in dispatch.due(installation.now + timedelta(minutes=1)):
        dispatch.deliver(delivery_id, "test", installation.now + timedelta(minutes=1))


def work(store: Store, now: datetime) -> None:
    """A worker has just ticked, and can reach the world."""
    beats = Beats(store.sessions)
    beats.put_setting(TICKING, Ticking(now, now - timedelta(days=30)).to_json(), now)
    beats.put_setting(CONNECTIVITY, Connectivity(now).to_json(), now)
