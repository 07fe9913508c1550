"""What a check suspects is asked again by the queue: once, of the probe that suspects it, and not every hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from monitor.drift.rule import Verdict
from monitor.drift.stages import STAGE, Stage
from monitor.store import CheckEntry, EndpointRecord, EvidenceRecord, Queue, RunResult, RunStatus, Store, Trigger
from monitor.store.conclusion import Bearings, Ended, conclude
from probes.plan import ProbeKind
from tests.monitor.store.material import AT, later, start
from tests.monitor.store.queued import enqueued

BEARINGS = Bearings({}, (), False, timedelta(hours=1), {"probes": ["logprobs", "tool_calls"], "n": 20})


def found(metric: str, detail: Mapping[str, Any]) -> EvidenceRecord:
    return EvidenceRecord(metric, "run-level", "1", Verdict.SUSPECT, counted=True, detail=detail)


def concluded(store: Store, endpoint: EndpointRecord, at: datetime, *evidence: EvidenceRecord) -> CheckEntry | None:
    """A check that found this; what waits after it."""
    queue = Queue(store.sessions)
    claimed = queue.claim(enqueued(store, endpoint.id, f"at-{at}").id, "w", at)
    assert claimed is not None
    begun = replace(start(endpoint.id, ProbeKind.TOOL_CALLS), check_id=claimed.entry.id)
    run_id = store.begin_run(begun, at=at, lease=claimed.lease)
    store.finish_run(run_id, RunResult(RunStatus.SUCCEEDED, evidence=evidence), at=at, lease=claimed.lease)
    with store.sessions.write() as session:
        waiting = conclude(session, claimed, Ended(RunStatus.SUCCEEDED), BEARINGS, (), at)
    return None if waiting is None else queue.entry(waiting)


HIT = found("tool_calls.trigger", {STAGE: Stage.HIT})


def test_a_suspicion_is_asked_about_again_by_its_own_probe(store: Store, endpoint: EndpointRecord) -> None:
    again = concluded(store, endpoint, AT, HIT, found("tool_calls.arguments", {STAGE: Stage.CLEAR}))

    assert again is not None
    assert (again.trigger, again.options) == (Trigger.CONFIRM, {"probes": ["tool_calls"], "n": 20})
    assert again.confirms is not None
    assert store.screened(again.confirms) == {"tool_calls.trigger"}


def test_what_nobody_suspects_is_not(store: Store, endpoint: EndpointRecord) -> None:
    assert concluded(store, endpoint, AT, found("tool_calls.trigger", {STAGE: Stage.CLEAR}), found("evals", {})) is None


def test_what_stays_suspected_is_asked_about_once_a_day(store: Store, endpoint: EndpointRecord) -> None:
    first = concluded(store, endpoint, AT, HIT)
    assert first is not None
    confirming = Queue(store.sessions).claim(first.id, "w", later(1))
    assert confirming is not None
    with store.sessions.write() as session:
        conclude(session, confirming, Ended(RunStatus.SUCCEEDED), BEARINGS, (), later(2))

    assert concluded(store, endpoint, later(60), HIT) is None
    assert concluded(store, endpoint, later(25 * 60), HIT) is not None
