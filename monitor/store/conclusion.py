"""The end of a check in one transaction: its entry, its alerts, what channels hear of it, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.alerts.rule import AlertRule
from monitor.alerts.signals import Failed, Verdicted
from monitor.drift.rule import Verdict
from monitor.fault_points import FaultPoint, fault_point
from monitor.store import escalations, limits, queue, queue_turns, runs
from monitor.store.alert_history import check_signals
from monitor.store.alerts import apply_signals
from monitor.store.entries import CheckEntry, CheckRequest, Claimed
from monitor.store.evidence import screened
from monitor.store.outbox import record_service_event
from monitor.store.queue_news import RUN_FINISHED, key_of, told_of
from monitor.store.records import RunResult
from monitor.store.tables import Alert, ChangeEvent, Endpoint, EndpointCheck, Run
from monitor.store.vocabulary import AlertState, ChangeKind, RunStatus, Trigger

# What stays suspected would otherwise be asked twice for ever.
_CONFIRMED_WITHIN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a check ended. `unfinished` are its runs that are still open, by id, and how they end. `ours`: it failed for
    a reason on our side, which says nothing of the endpoint. `spent` is in millionths of a US dollar; None where nobody
    knows, and all that was reserved counts."""

    status: RunStatus
    verdict: Verdict | None = None
    enrolled: bool = False
    error_code: str | None = None
    error: str | None = None
    unfinished: Mapping[str, RunResult] = field(default_factory=dict)
    ours: bool = False
    spent: int | None = 0
    done: int = 0
    planned: int = 0


@dataclass(frozen=True, slots=True)
class Bearings:
    """What the configuration says of the endpoint at this moment. `confirm_within`: how long a check that confirms a
    drift may wait for a worker; `confirm_options` are its options."""

    labels: Mapping[str, str]
    rules: Sequence[AlertRule]
    maintenance: bool
    confirm_within: timedelta
    confirm_options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServiceNews:
    """Something that channels may hear of, beside what every check tells."""

    type: str
    dedupe_key: str
    data: Mapping[str, Any]


def conclude(
    session: Session, claimed: Claimed, ended: Ended, bearings: Bearings, news: Sequence[ServiceNews], at: datetime
) -> str | None:
    """End a check and all that follows from it; the id of the endpoint's next check, such as one that is to confirm its
    drift, or that its streams ask for, if one waits.

    Raises LeaseLostError where the check is another's: nothing is written then.
    """
    lease, entry = claimed.lease, claimed.entry
    queue.hold(session, lease)
    # Two checks of one endpoint that end at once would wait for each other's alerts in a circle.
    session.execute(select(Endpoint.id).where(Endpoint.id == entry.endpoint_id).with_for_update(key_share=True))
    for run_id, result in ended.unfinished.items():
        runs.finish(session, run_id, result, [], at)
    # Those of an earlier attempt that this one did not come to go on with.
    runs.close_runs(session, [entry.id], ended.status, ended.error_code or ended.status.value, at)
    queue.extend(session, lease, at, done=ended.done, planned=ended.planned)
    queue.finish(
        session,
        lease,
        status=ended.status,
        verdict=ended.verdict,
        enrolled=ended.enrolled,
        error_code=ended.error_code,
        error=ended.error,
        at=at,
    )
    if ended.spent is not None:
        limits.settle(session, entry.id, ended.spent)
    signals = [] if ended.ours else _signals(session, entry.id, maintenance=bearings.maintenance)
    apply_signals(session, entry.endpoint_id, bearings.labels, signals, bearings.rules, at)
    for one in (*_told(session, claimed, ended), *news):
        record_service_event(
            session,
            one.type,
            one.dedupe_key,
            endpoint_id=entry.endpoint_id,
            labels=bearings.labels,
            data=one.data,
            at=at,
        )
    _enter_confirming(session, claimed, signals, bearings, at)
    asked = escalations.next_check(session, claimed.entry, bearings.confirm_options, at + bearings.confirm_within, at)
    queue.enqueue(session, [] if asked is None else [asked], at)
    fault_point(FaultPoint.IN_CONCLUDE)
    return queue_turns.next_in_turn(session, entry.endpoint_id, at)


def _signals(session: Session, check_id: str, *, maintenance: bool) -> list[Verdicted | Failed]:
    session.flush()
    return [replace(signal, maintenance=maintenance) for signal in check_signals(session, check_id)]


def _told(session: Session, claimed: Claimed, ended: Ended) -> list[ServiceNews]:
    entry = replace(
        claimed.entry,
        status=ended.status,
        verdict=ended.verdict,
        enrolled=ended.enrolled,
        error_code=ended.error_code,
    )
    news = [ServiceNews(RUN_FINISHED, key_of(entry.id), told_of(entry))]
    changed = (
        select(Run.served_fingerprint)
        .join(ChangeEvent, ChangeEvent.at == Run.finished_at)
        .where(
            Run.check_id == entry.id,
            ChangeEvent.endpoint_id == entry.endpoint_id,
            ChangeEvent.kind == ChangeKind.FINGERPRINT,
        )
    )
    for fingerprint in session.scalars(changed.limit(1)):
        data = {"check": entry.id, "fingerprint": fingerprint}
        news.append(ServiceNews("provider.fingerprint_changed", f"fingerprint:{entry.id}", data))
    return news


def _enter_confirming(
    session: Session, claimed: Claimed, signals: Sequence[Verdicted | Failed], bearings: Bearings, at: datetime
) -> None:
    """A drift that waits to be confirmed is asked about again at once, and so is what was suspected; what was proven is
    not."""
    entry = claimed.entry
    if entry.trigger in (Trigger.CONFIRM, Trigger.ESCALATE):
        return
    moved = [s.metric for s in signals if isinstance(s, Verdicted) and s.verdict is Verdict.DRIFT]
    options = bearings.confirm_options
    if not _drift_waits(session, entry.endpoint_id, moved):
        suspected = _suspected(session, entry, at)
        if not suspected:
            return
        options = {**options, "probes": sorted({metric.partition(".")[0] for metric in suspected})}
    request = CheckRequest(
        f"confirm:{entry.id}",
        entry.endpoint_id,
        Trigger.CONFIRM,
        at,
        options,
        confirms=entry.id,
        deadline=at + bearings.confirm_within,
    )
    queue.enqueue(session, [request], at)


def _drift_waits(session: Session, endpoint_id: str, moved: Sequence[str]) -> bool:
    waiting = select(Alert.id).where(
        Alert.endpoint_id == endpoint_id, Alert.metric.in_(moved), Alert.state == AlertState.PENDING
    )
    return bool(moved) and session.scalars(waiting.limit(1)).first() is not None


def _suspected(session: Session, entry: CheckEntry, at: datetime) -> frozenset[str]:
    """What was found that only fresh answers can tell from chance. What goes on to be suspected is asked about once a
    day, and what burns already is not."""
    metrics = screened(session, entry.id)
    if not metrics:
        return metrics
    burning = select(Alert.id).where(
        Alert.endpoint_id == entry.endpoint_id, Alert.metric.in_(metrics), Alert.state == AlertState.FIRING
    )
    lately = select(EndpointCheck.id).where(
        EndpointCheck.endpoint_id == entry.endpoint_id,
        EndpointCheck.trigger == Trigger.CONFIRM,
        EndpointCheck.queued_at > at - _CONFIRMED_WITHIN,
    )
    known = any(session.scalars(found.limit(1)).first() is not None for found in (burning, lately))
    return frozenset() if known else metrics
