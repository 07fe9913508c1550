"""An endpoint's streams between their rows and their values: the epochs, what each stream came to, and looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from monitor.drift.begun import Begun
from monitor.drift.decision import EndpointState
from monitor.drift.endpoint_streams import EndpointStreams, Escalation, Look
from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.score_stream import Round, StreamRule
from monitor.drift.streams import Epoch, StreamState
from monitor.errors import EvidenceRefusedError
from monitor.store.once import insert_once
from monitor.store.stream_codec import (
    decode_endpoint,
    decode_state,
    encode_endpoint,
    encode_state,
    pack_rounds,
    plain_rule,
    rule_of,
)
from monitor.store.stream_records import EpochRecord
from monitor.store.tables import EndpointEpoch, EndpointLook, Stream, StreamEpoch, StreamEvidence
from monitor.store.tables import StreamState as StateRow
from monitor.store.vocabulary import LookKind, StreamLevel, StreamTier

if TYPE_CHECKING:
    from monitor.drift.first_baseline import AgainstFirst


class Place(NamedTuple):
    """A stream within an epoch, or within an escalation of it, by its row."""

    row: StreamEpoch
    key: StreamKey


class Beginning(NamedTuple):
    """How a stream comes into an epoch."""

    begun: Begun
    state: StreamState
    baseline: tuple[Round, ...] | None = None
    first: tuple[Round, ...] | None = None


def open_epoch_or_none(session: Session, endpoint_id: str) -> EndpointEpoch | None:
    return session.scalars(
        select(EndpointEpoch).where(EndpointEpoch.endpoint_id == endpoint_id, EndpointEpoch.closed_at.is_(None))
    ).one_or_none()


def open_epoch(session: Session, endpoint_id: str) -> EndpointEpoch:
    """Raises EvidenceRefusedError where none is."""
    found = open_epoch_or_none(session, endpoint_id)
    if found is None:
        raise EvidenceRefusedError(
            f"No epoch of endpoint {endpoint_id} is open.", remedy="Open one with the streams that are to be watched."
        )
    return found


def epoch_of(row: EndpointEpoch) -> Epoch:
    return Epoch(row.number, row.opened_at.timestamp(), row.stack)


def record_of(session: Session, row: EndpointEpoch) -> EpochRecord:
    told = {
        place.key: place.row.against_first for place in places(session, row.id) if place.row.against_first is not None
    }
    return EpochRecord(
        row.endpoint_id,
        row.number,
        row.stack,
        row.opened_at,
        row.closed_at,
        row.why,
        row.note,
        row.closed_by,
        _against(told) if told else {},
    )


def _against(told: Mapping[StreamKey, str]) -> dict[StreamKey, AgainstFirst]:
    # Here: numpy is a tenth of what a web process weighs, and few epochs have any.
    from monitor.store.first_codec import decode_against

    return {key: decode_against(text) for key, text in told.items()}


def planned(row: EndpointEpoch) -> dict[StreamKey, StreamRule]:
    """What an escalation asks."""
    return {
        StreamKey(row.endpoint_id, Tier(one["tier"]), one["probe_set"]): rule_of(one["rule"]) for one in row.escalation
    }


def plain_plan(asked: Mapping[StreamKey, StreamRule]) -> list[Any]:
    """`planned` as JSON values."""
    return [
        {"tier": key.tier.value, "probe_set": key.probe_set, "rule": plain_rule(rule)}
        for key, rule in sorted(asked.items())
    ]


def places(session: Session, epoch_id: int) -> list[Place]:
    """Of every stream and of every escalation's."""
    rows = session.execute(
        select(StreamEpoch, Stream)
        .join(Stream, Stream.id == StreamEpoch.stream_id)
        .where(StreamEpoch.epoch_id == epoch_id)
        .order_by(StreamEpoch.id)
    )
    return [Place(row, key_of(stream)) for row, stream in rows]


def key_of(row: Stream) -> StreamKey:
    return StreamKey(row.endpoint_id, Tier(row.tier.value), row.probe_set)


def states_of(session: Session, epoch_id: int) -> dict[int, StateRow]:
    """What is stored of each stream, by its `stream_epoch`."""
    rows = session.scalars(
        select(StateRow)
        .join(StreamEpoch, StreamEpoch.id == StateRow.stream_epoch_id)
        .where(StreamEpoch.epoch_id == epoch_id)
    )
    return {row.stream_epoch_id: row for row in rows}


def stored(session: Session, epoch: EndpointEpoch) -> EndpointStreams:
    """What an open epoch came to. Raises StateVersionError where a part of it is stored in another form."""
    rows, watched = states_of(session, epoch.id), places(session, epoch.id)
    found = [(place, decode_state(rows[place.row.id].state)) for place in watched if place.row.closed_at is None]
    streams = [state for place, state in found if place.row.escalation == 0]
    escalated = {place.key: state for place, state in found if place.row.escalation}
    number = max((place.row.escalation for place in watched), default=0)
    last = session.scalars(
        select(EndpointLook.state).where(EndpointLook.epoch_id == epoch.id).order_by(EndpointLook.id.desc()).limit(1)
    ).one_or_none()
    return replace(
        EndpointStreams.opened(epoch_of(epoch), streams, planned(epoch)),
        state=EndpointState() if last is None else decode_endpoint(last),
        escalation=Escalation(number, dict(sorted(escalated.items()))),
    )


def begin(
    session: Session, epoch: EndpointEpoch, escalation: int, beginnings: Iterable[Beginning], at: datetime
) -> None:
    """Enter streams into an epoch, or into an escalation of it, with their first states."""
    for begun, state, baseline, first in beginnings:
        row = StreamEpoch(
            stream_id=_stream_id(session, state.key, at),
            epoch_id=epoch.id,
            escalation=escalation,
            begun=begun,
            rule=plain_rule(state.rule),
            baseline=None if baseline is None else pack_rounds(baseline),
            first_baseline=None if first is None else pack_rounds(first),
            opened_at=at,
        )
        session.add(row)
        session.flush()
        text = encode_state(state)
        session.add(StateRow(stream_epoch_id=row.id, version=state.version, sequence=0, state=text))
    session.flush()


def end_escalations(session: Session, epoch: EndpointEpoch, at: datetime) -> None:
    session.execute(
        update(StreamEpoch)
        .where(StreamEpoch.epoch_id == epoch.id, StreamEpoch.escalation > 0, StreamEpoch.closed_at.is_(None))
        .values(closed_at=at)
    )


def save_state(session: Session, stream_epoch_id: int, sequence: int, state: StreamState, text: str) -> None:
    session.execute(
        update(StateRow)
        .where(StateRow.stream_epoch_id == stream_epoch_id)
        .values(version=state.version, sequence=sequence, state=text)
    )


def look_row(epoch: EndpointEpoch, kind: LookKind, at: datetime, sequence: int) -> EndpointLook:
    """A look before anything is computed of it."""
    return EndpointLook(epoch_id=epoch.id, kind=kind, at=at, sequence=sequence)


def looked_values(found: Look, state: EndpointState) -> dict[str, Any]:
    """What is computed of a look, by the columns of its row."""
    return {
        "level": StreamLevel(state.level.name.lower()),
        "worth": found.worth,
        "value": found.average.value,
        "proven": found.average.proven,
        "escalated": found.escalated,
        "events": [event.value for event in found.events],
        "state": encode_endpoint(state),
    }


def last_sequence(session: Session, endpoint_id: str) -> int:
    """0 where there is no evidence yet."""
    last = select(func.max(StreamEvidence.sequence)).where(StreamEvidence.endpoint_id == endpoint_id)
    return session.scalars(last).one() or 0


def _stream_id(session: Session, key: StreamKey, at: datetime) -> int:
    names = {"endpoint_id": key.endpoint, "tier": StreamTier(key.tier.value), "probe_set": key.probe_set}
    insert_once(session, Stream, **names, created_at=at)
    return session.scalars(select(Stream.id).filter_by(**names)).one()
