"""Epochs of an endpoint's streams: opened with what is watched, closed for a reason, and gone on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from monitor.drift.begun import Begun
from monitor.drift.endpoint_streams import EndpointStreams, opening
from monitor.drift.evidence import Scores, StreamKey
from monitor.drift.score_stream import Round
from monitor.drift.streams import StreamState
from monitor.errors import EvidenceRefusedError, UsageError
from monitor.standing import STREAMS
from monitor.store import enrolments
from monitor.store.access import audit
from monitor.store.alert_steps import accept_change
from monitor.store.baselines import hold
from monitor.store.changes import log_change
from monitor.store.endpoints import find_endpoint
from monitor.store.stream_evidence import statement
from monitor.store.stream_first import keep_against_first
from monitor.store.stream_recorded import current
from monitor.store.stream_records import EpochPlan
from monitor.store.stream_rows import Beginning, begin, epoch_of, key_of, open_epoch, plain_plan, planned
from monitor.store.tables import EndpointEpoch, StreamEpoch, StreamEvidence
from monitor.store.tables import Stream as StreamRow
from monitor.store.vocabulary import ChangeKind, EpochEnd

Baselines = Mapping[StreamKey, Sequence[Round]]


def open_first(
    session: Session, endpoint_id: str, plan: EpochPlan, baselines: Baselines | None, at: datetime
) -> EndpointStreams:
    """An endpoint's first epoch; `baselines` are rounds to take levels from, where there are any by now.

    Raises EvidenceRefusedError where it has an epoch already, StorageError where there is no such endpoint.
    """
    find_endpoint(session, endpoint_id)
    hold(session, endpoint_id)
    last = session.scalars(select(func.max(EndpointEpoch.number)).where(EndpointEpoch.endpoint_id == endpoint_id)).one()
    if last is not None:
        raise EvidenceRefusedError(
            f"Endpoint {endpoint_id} has an epoch already, {last}.", remedy="Close it: the next one goes on from it."
        )
    return _opened(session, endpoint_id, 0, plan, {}, baselines, {}, at)


def turn(
    session: Session,
    endpoint_id: str,
    why: EpochEnd,
    plan: EpochPlan,
    baselines: Baselines | None,
    at: datetime,
    firsts: Baselines | None = None,
) -> EndpointStreams:
    """Close the open epoch and open the next one.

    Streams that are watched on by the same rule keep their levels, or take them from `baselines` where these are given;
    the others begin anew. All evidence starts at 1. New baselines are held against the first ones for ever; `firsts`
    are these where they are scored anew. Raises EvidenceRefusedError where no epoch is open.
    """
    hold(session, endpoint_id)
    epoch = open_epoch(session, endpoint_id)
    if baselines is None and plan.stack != epoch.stack:
        raise EvidenceRefusedError(
            f"Levels of stack {epoch.stack} cannot be gone on with by stack {plan.stack}.",
            remedy="Give the baselines as the new stack scores them.",
        )
    before = current(session, epoch)
    epoch.closed_at, epoch.why = at, why
    session.execute(
        update(StreamEpoch)
        .where(StreamEpoch.epoch_id == epoch.id, StreamEpoch.closed_at.is_(None))
        .values(closed_at=at)
    )
    session.flush()
    return _opened(session, endpoint_id, epoch.number + 1, plan, before.streams, baselines, firsts or {}, at)


def expire(session: Session, endpoint_id: str, at: datetime) -> EndpointStreams:
    """The open epoch's time is over: the same is watched on."""
    hold(session, endpoint_id)
    return turn(session, endpoint_id, EpochEnd.EXPIRED, plan_of(session, endpoint_id), None, at)


def change_stack(
    session: Session,
    endpoint_id: str,
    plan: EpochPlan,
    baselines: Baselines,
    at: datetime,
    firsts: Baselines | None = None,
) -> EndpointStreams:
    """Our engine, a library of it or a detector is another: `baselines` are the rounds of each stream's baseline as the
    new one scores them, `firsts` those of the first one for ever, as far as they can be scored."""
    hold(session, endpoint_id)
    before = open_epoch(session, endpoint_id).stack
    if plan.stack == before:
        raise EvidenceRefusedError(
            f"The stack of endpoint {endpoint_id} is {before} already.", remedy="Nothing needs to be done."
        )
    opened = turn(session, endpoint_id, EpochEnd.OUR_STACK, plan, baselines, at, firsts)
    log_change(session, endpoint_id, ChangeKind.ENGINE, f"our stack: {before} before, {plan.stack} now", at)
    return opened


def accept(
    session: Session, endpoint_id: str, baselines: Baselines, *, note: str, actor: str, at: datetime
) -> EndpointStreams:
    """A person accepts what the endpoint is now. Raises UsageError without a note."""
    if not note.strip():
        raise UsageError("A change is accepted only with a note.", remedy="Say why.")
    hold(session, endpoint_id)
    epoch = open_epoch(session, endpoint_id)
    opened = turn(session, endpoint_id, EpochEnd.ACCEPTED, plan_of(session, endpoint_id), baselines, at)
    enrolments.close(session, endpoint_id, at)
    accept_change(session, endpoint_id, STREAMS, note.strip(), at)
    epoch.note, epoch.closed_by = note.strip(), actor
    log_change(session, endpoint_id, ChangeKind.BASELINE, f"epoch {epoch.number} closed: {note.strip()}", at)
    audit(session, actor, "epoch.accept", endpoint_id, {"epoch": epoch.number}, at)
    session.flush()
    return opened


def plan_of(session: Session, endpoint_id: str) -> EpochPlan:
    """What the open epoch watches."""
    epoch = open_epoch(session, endpoint_id)
    watched = current(session, epoch).streams
    return EpochPlan(epoch.stack, {key: state.rule for key, state in watched.items()}, planned(epoch))


def rounds(session: Session, endpoint_id: str, since: float) -> dict[StreamKey, tuple[Round, ...]]:
    """The rounds of scores that an endpoint's streams were given for the time since, in order of time: what an accepted
    change is a baseline of. Escalations are left out."""
    found: dict[StreamKey, dict[float, Round]] = {}
    rows = session.execute(
        select(StreamEvidence, StreamRow)
        .join(StreamRow, StreamRow.id == StreamEvidence.stream_id)
        .join(StreamEpoch, StreamEpoch.id == StreamEvidence.stream_epoch_id)
        .where(StreamEvidence.endpoint_id == endpoint_id, StreamEvidence.at >= since, StreamEpoch.escalation == 0)
        .order_by(StreamEvidence.sequence)
    )
    for row, stream in rows:
        says = statement(row.says)
        if isinstance(says, Scores):
            found.setdefault(key_of(stream), {}).setdefault(row.at, Round(row.at, says.mean))
    return {key: tuple(of_time[at] for at in sorted(of_time)) for key, of_time in found.items()}


def _opened(
    session: Session,
    endpoint_id: str,
    number: int,
    plan: EpochPlan,
    before: Mapping[StreamKey, StreamState],
    baselines: Baselines | None,
    firsts: Baselines,
    at: datetime,
) -> EndpointStreams:
    _check(endpoint_id, plan)
    row = EndpointEpoch(
        endpoint_id=endpoint_id,
        number=number,
        stack=plan.stack,
        escalation=plain_plan(plan.escalation),
        enrolment_id=enrolments.open_id(session, endpoint_id),
        opened_at=at,
    )
    session.add(row)
    session.flush()
    epoch = epoch_of(row)
    beginnings = [
        _beginning(StreamState(key, rule, epoch), before.get(key), baselines, firsts)
        for key, rule in plan.streams.items()
    ]
    begin(session, row, 0, beginnings, at)
    keep_against_first(session, row, at)
    return EndpointStreams.opened(epoch, [one.state for one in beginnings], planned(row))


def _beginning(
    new: StreamState, prior: StreamState | None, baselines: Baselines | None, firsts: Baselines
) -> Beginning:
    baseline = None if baselines is None else _rounds_of(baselines, new.key)
    # A baseline of a stream that was given nothing yet is its first one.
    if prior is None or prior.rule != new.rule or (baseline is not None and prior.process is None):
        begun = Begun.NEW
    else:
        begun = Begun.RENEWED if baselines is None else Begun.REBASED
    return Beginning(begun, opening(begun, new, prior, baseline), baseline, _rounds_of(firsts, new.key))


def _rounds_of(baselines: Baselines, key: StreamKey) -> tuple[Round, ...] | None:
    given = baselines.get(key)
    return None if given is None else tuple(Round(float(one.at), float(one.score)) for one in given)


def _check(endpoint_id: str, plan: EpochPlan) -> None:
    foreign = [key for key in (*plan.streams, *plan.escalation) if key.endpoint != endpoint_id]
    if foreign or not plan.streams:
        raise EvidenceRefusedError(
            f"An epoch of endpoint {endpoint_id} cannot watch {foreign[0] if foreign else 'nothing'}.",
            remedy="Name streams of this endpoint.",
        )
