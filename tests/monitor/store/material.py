"""What the tests of the store put into it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import numpy as np

from monitor.drift.cause import Cause
from monitor.drift.interval import Interval
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict
from monitor.store import (
    EndpointIdentity,
    Enrol,
    EvidenceRecord,
    Join,
    MetricPoint,
    ReferenceIdentity,
    RunResult,
    RunStart,
    RunStatus,
    Store,
    Trigger,
    new_id,
)
from monitor.store.tables import Spending
from probes.plan import Attempt, Item, Outcome, ProbeKind, Sample

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
REFERENCE = ReferenceIdentity("sha256:aa", "own", "0.1.0", ("fp32", "bf16"))


def later(minutes: float) -> datetime:
    return AT + timedelta(minutes=minutes)


def spent(store: Store, provider: str, day: date) -> tuple[int, int]:
    """What a provider cost on a day, and what checks under way may still cost, in millionths of a US dollar."""
    with store.sessions.read() as session:
        found = session.get(Spending, (provider, day))
        return (0, 0) if found is None else (found.settled_microusd, found.reserved_microusd)


def identity(provider: str = "acme", model: str = "smol", **other: object) -> EndpointIdentity:
    fields: dict[str, object] = {"base_url": "https://api.acme.test/v1", "served_name": model, **other}
    return EndpointIdentity(provider_slug=provider, model_slug=model, **fields)  # type: ignore[arg-type]


def start(
    endpoint_id: str,
    probe: ProbeKind = ProbeKind.LOGPROBS,
    *,
    check_id: str | None = None,
    reference: ReferenceIdentity | None = REFERENCE,
) -> RunStart:
    return RunStart(
        endpoint_id=endpoint_id,
        check_id=check_id or new_id("chk", AT),
        probe=probe,
        suite_sha256="0" * 64,
        suite_version="1",
        trigger=Trigger.CLI,
        config_digest="c" * 64,
        code_version="0.1.0",
        planned=3,
        reference=reference,
    )


def sample(key: str, rep: int = 0, outcome: Outcome = Outcome.OK, *, body: bytes = b'{"id":"cmpl-1"}') -> Sample:
    attempt = Attempt(
        http_status=200,
        headers={"Content-Type": "application/json", "Set-Cookie": "session=1"},
        body=body,
        sent_at=AT,
        seconds=0.25,
        error="provider_rejected" if outcome is Outcome.REFUSED else None,
    )
    request = {"model": "smol", "messages": [{"role": "user", "content": f"a private prompt {key}"}]}
    return Sample(Item(key, rep, request, anchor=True), outcome, None, (attempt,), request)


def observation(key: str, rep: int = 0, value: float = -0.5) -> Observation:
    return Observation(
        item_key=key,
        rep=rep,
        anchor=True,
        tokens=(b" yes", b"\xff"),
        logprobs=np.array([value, -2.0]),
        sampled=b" yes",
        reference_tokens=(b" yes", b" no"),
        expected={"fp32": np.array([-0.4, -1.5]), "bf16": np.array([-0.41, -1.49])},
        prompt_tokens=12,
        expected_prompt_tokens=12,
        response_id="cmpl-1",
    )


def evidence(metric: str = "logprobs", verdict: Verdict = Verdict.OK, *, counted: bool = True) -> EvidenceRecord:
    return EvidenceRecord(
        metric=metric,
        detector="two_sample",
        detector_version="1",
        verdict=verdict,
        counted=counted,
        statistic=1.25,
        p=0.25,
        adjusted_p=0.5,
        value=0.012,
        unit="nat",
        interval=Interval(0.001, 0.023),
        baseline=0.01,
        detectable=0.05,
        target=0.071,
        n=3,
        tokens=36,
        causes=(Cause("bf16", 0.75), Cause("nf4", 0.25)),
        detail={"seed": 7},
    )


def result(
    *,
    status: RunStatus = RunStatus.SUCCEEDED,
    verdict: Verdict = Verdict.OK,
    value: float = -0.5,
    baseline: Enrol | Join | None = None,
    fingerprint: str | None = None,
    evidence_of: Sequence[EvidenceRecord] | None = None,
) -> RunResult:
    return RunResult(
        status=status,
        tokens_in=36,
        tokens_out=3,
        cost_microusd=120,
        served_fingerprint=fingerprint,
        observations=[observation("a", 0, value), observation("a", 1, value), observation("b", 0, value)],
        evidence=[evidence(verdict=verdict)] if evidence_of is None else evidence_of,
        metric_points=[MetricPoint("logprobs.shift", 0.012, 3, Interval(0.001, 0.023))],
        baseline=baseline,
    )


def finished_run(
    store: Store,
    endpoint_id: str,
    at: datetime = AT,
    *,
    probe: ProbeKind = ProbeKind.LOGPROBS,
    check_id: str | None = None,
    outcome: RunResult | None = None,
) -> str:
    run_id = store.begin_run(start(endpoint_id, probe, check_id=check_id), at=at)
    store.finish_run(run_id, outcome or result(), at=at + timedelta(seconds=30))
    return run_id


def canonical(observed: Observation) -> str:
    """An observation as text that is equal exactly where every bit is."""
    return json.dumps(
        {
            "scalars": [observed.item_key, observed.rep, observed.anchor, observed.prompt_tokens],
            "more": [observed.expected_prompt_tokens, observed.response_id],
            "tokens": [token.hex() for token in observed.tokens],
            "logprobs": observed.logprobs.astype("<f8").tobytes().hex(),
            "sampled": None if observed.sampled is None else observed.sampled.hex(),
            "reference_tokens": [token.hex() for token in observed.reference_tokens],
            "expected": [[name, values.astype("<f8").tobytes().hex()] for name, values in observed.expected.items()],
        }
    )
