"""What is stored of an endpoint's streams held against what its stored evidence gives, bit for bit, or written anew."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from monitor.drift.decision import Event
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import StreamKey
from monitor.drift.streams import STATE_VERSION
from monitor.errors import ReplayDiffersError, UsageError
from monitor.store.first_codec import encode_against
from monitor.store.stream_codec import digest, encode_state
from monitor.store.stream_first import against_first
from monitor.store.stream_recorded import Fed, Followed, Recorded, Step
from monitor.store.stream_records import Difference, Replayed, ReplayedRun
from monitor.store.stream_rows import looked_values, record_of, save_state, states_of
from monitor.store.tables import EndpointEpoch, EndpointLook, StreamEpoch, StreamEvidence


def derive_anew(session: Session, epoch: EndpointEpoch) -> EndpointStreams:
    """Write everything anew that is computed of an epoch's facts; what it came to."""
    recorded = Recorded(session, epoch)
    followed, now = Followed(recorded), recorded.opened()
    for step in recorded.steps():
        followed.step(step)
        _write(session, step)
        now = step.streams
    for stream_epoch_id, (sequence, state) in followed.last(now).items():
        save_state(session, stream_epoch_id, sequence, state, encode_state(state))
    session.flush()
    return now


def _write(session: Session, step: Step) -> None:
    if isinstance(step, Fed):
        values = {"value": step.state.value, "state_sha256": digest(encode_state(step.state))}
        session.execute(update(StreamEvidence).where(StreamEvidence.id == step.row.id).values(**values))
    else:
        values = looked_values(step.found, step.streams.state)
        session.execute(update(EndpointLook).where(EndpointLook.id == step.row.id).values(**values))


def replay(session: Session, epoch: EndpointEpoch, run_id: str | None = None) -> Replayed:
    """Compute an epoch anew and hold it against what is stored; what `run_id` changed is told apart."""
    recorded, rows = Recorded(session, epoch), states_of(session, epoch.id)
    followed, now = Followed(recorded), recorded.opened()
    check = _Check(exact={row.version for row in rows.values()} <= {STATE_VERSION})
    if check.exact:
        _check_against_first(session, recorded, check)
    run = None if run_id is None else _OfRun(run_id)
    try:
        for step in recorded.steps():
            followed.step(step)
            check.compare(step)
            if run is not None:
                run.follow(now, step)
            now = step.streams
    except ReplayDiffersError:
        # What comes later may not go with what differs before it.
        if check.difference is None:
            raise
    for stream_epoch_id, (sequence, state) in followed.last(now).items():
        row = rows[stream_epoch_id]
        kept, computed = digest(row.state), digest(encode_state(state))
        if check.exact:
            key = recorded.places[stream_epoch_id].key
            check.differ(sequence, key, f"state {kept} of {row.sequence}", f"state {computed} of {sequence}")
    return Replayed(
        record_of(session, epoch),
        len(recorded.evidence),
        len(recorded.looks),
        check.exact,
        now,
        None if run is None else run.replayed(),
        check.difference,
    )


def _check_against_first(session: Session, recorded: Recorded, check: _Check) -> None:
    for row, key in recorded.places.values():
        found = None if row.escalation else against_first(session, row)
        computed = None if found is None else encode_against(found)
        check.differ(
            0, key, f"against the first baseline {row.against_first}", f"against the first baseline {computed}"
        )


@dataclass
class _Check:
    """The first place where what was computed is not what is stored; without `exact`, by values alone."""

    exact: bool
    difference: Difference | None = None

    def compare(self, step: Step) -> None:
        if isinstance(step, Fed):
            row, key = step.row, step.place.key
            self.differ(row.sequence, key, f"value {row.value!r}", f"value {step.state.value!r}")
            if self.exact:
                computed = digest(encode_state(step.state))
                self.differ(row.sequence, key, f"state {row.state_sha256}", f"state {computed}")
            return
        for name, value in looked_values(step.found, step.streams.state).items():
            if self.exact or name != "state":
                self.differ(step.row.sequence, None, f"{name} {getattr(step.row, name)}", f"{name} {value}")

    def differ(self, sequence: int, stream: StreamKey | None, kept: str, computed: str) -> None:
        """The first difference counts."""
        if kept != computed and self.difference is None:
            self.difference = Difference(sequence, stream, kept, computed)


@dataclass
class _OfRun:
    """What one run's evidence changed."""

    run_id: str
    _sequences: tuple[int, ...] = ()
    _before: EndpointStreams | None = None
    _after: EndpointStreams | None = None
    _events: tuple[Event, ...] = ()

    def follow(self, before: EndpointStreams, step: Step) -> None:
        if step.row.run_id != self.run_id:
            return
        self._before, self._after = self._before or before, step.streams
        if isinstance(step, Fed):
            self._sequences += (step.row.sequence,)
        else:
            self._events += step.found.events

    def replayed(self) -> ReplayedRun | None:
        if self._before is None or self._after is None:
            return None
        return ReplayedRun(self.run_id, self._sequences, self._before, self._after, self._events)


def epoch_of_run(session: Session, run_id: str) -> EndpointEpoch:
    """The last epoch that a run's evidence was added to. Raises UsageError where it was added to none."""
    found = session.scalars(
        select(EndpointEpoch)
        .join(StreamEpoch, StreamEpoch.epoch_id == EndpointEpoch.id)
        .join(StreamEvidence, StreamEvidence.stream_epoch_id == StreamEpoch.id)
        .where(StreamEvidence.run_id == run_id)
        .order_by(EndpointEpoch.number.desc())
        .limit(1)
    ).one_or_none()
    if found is None:
        raise UsageError(
            f"No stream has evidence of run {run_id}.",
            remedy="`monitor drift replay --provider …` shows what there is.",
        )
    return found
