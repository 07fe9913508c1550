"""What an endpoint's rounds add up to, kept: evidence comes in, and states, looks and events follow from it in the same
transaction.

Evidence, epochs and looks' inputs are facts, kept for good. States are derived: whatever is stored of them is computed
anew where its form is another, and `replay` tells whether it is what the facts give.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select

from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import Evidence, StreamKey
from monitor.drift.score_stream import Round
from monitor.errors import UsageError
from monitor.store import stream_adding, stream_epochs, stream_recorded, stream_replay, stream_settling
from monitor.store.session import Sessions
from monitor.store.stream_epochs import Baselines
from monitor.store.stream_records import Added, EpochPlan, EpochRecord, Replayed
from monitor.store.stream_rows import (
    open_epoch,
    record_of,
)
from monitor.store.tables import EndpointEpoch
from monitor.store.vocabulary import EpochEnd


class Streams:
    """The streams of one database. Every method is the function of its name in one transaction."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def open(
        self, endpoint_id: str, plan: EpochPlan, *, at: datetime, baselines: Baselines | None = None
    ) -> EndpointStreams:
        with self._sessions.write() as session:
            return stream_epochs.open_first(session, endpoint_id, plan, baselines, at)

    def expire(self, endpoint_id: str, *, at: datetime) -> EndpointStreams:
        with self._sessions.write() as session:
            return stream_epochs.expire(session, endpoint_id, at)

    def change_stack(
        self,
        endpoint_id: str,
        plan: EpochPlan,
        baselines: Baselines,
        *,
        at: datetime,
        firsts: Baselines | None = None,
    ) -> EndpointStreams:
        with self._sessions.write() as session:
            return stream_epochs.change_stack(session, endpoint_id, plan, baselines, at, firsts)

    def settle(self, endpoint_id: str, *, at: datetime) -> EndpointStreams | None:
        with self._sessions.write() as session:
            return stream_settling.settle(session, endpoint_id, at)

    def replan(self, endpoint_id: str, plan: EpochPlan, *, at: datetime) -> EndpointStreams:
        """Watch other streams from now on."""
        with self._sessions.write() as session:
            return stream_epochs.turn(session, endpoint_id, EpochEnd.REPLANNED, plan, None, at)

    def accept(self, endpoint_id: str, baselines: Baselines, *, note: str, actor: str, at: datetime) -> EndpointStreams:
        with self._sessions.write() as session:
            return stream_epochs.accept(session, endpoint_id, baselines, note=note, actor=actor, at=at)

    def add(
        self, run_id: str, evidence: Sequence[Evidence], *, stack: str, at: datetime, our_side: str | None = None
    ) -> Added:
        with self._sessions.write() as session:
            return stream_adding.add(session, run_id, evidence, stack=stack, our_side=our_side, at=at)

    def add_escalated(
        self, run_id: str, evidence: Sequence[Evidence], *, stack: str, at: datetime, our_side: str | None = None
    ) -> Added:
        with self._sessions.write() as session:
            return stream_adding.add_escalated(session, run_id, evidence, stack=stack, our_side=our_side, at=at)

    def close_escalation(self, endpoint_id: str, *, at: datetime) -> EndpointStreams:
        with self._sessions.write() as session:
            return stream_adding.close_escalation(session, endpoint_id, at)

    def states(self, endpoint_id: str) -> EndpointStreams:
        """What the open epoch came to. Raises EvidenceRefusedError where none is open."""
        with self._sessions.read() as session:
            return stream_recorded.current(session, open_epoch(session, endpoint_id))

    def epochs(self, endpoint_id: str) -> list[EpochRecord]:
        """Every epoch an endpoint ever had, the first one first."""
        with self._sessions.read() as session:
            rows = session.scalars(
                select(EndpointEpoch).where(EndpointEpoch.endpoint_id == endpoint_id).order_by(EndpointEpoch.number)
            )
            return [record_of(session, row) for row in rows.all()]

    def rounds(self, endpoint_id: str, since: datetime) -> dict[StreamKey, tuple[Round, ...]]:
        with self._sessions.read() as session:
            return stream_epochs.rounds(session, endpoint_id, since.timestamp())

    def replay(self, endpoint_id: str, number: int) -> Replayed:
        """An epoch computed anew from its evidence, and where that first differs from what is stored. Raises UsageError
        where there is no such epoch."""
        with self._sessions.read() as session:
            epoch = stream_recorded.find_epoch(session, endpoint_id, number)
            if epoch is None:
                raise UsageError(f"Endpoint {endpoint_id} has no epoch {number}.", remedy="Name one that it has.")
            return stream_replay.replay(session, epoch)

    def replay_run(self, run_id: str) -> Replayed:
        """The epoch of a run computed anew, with what the run changed. Raises UsageError where no stream has evidence
        of it."""
        with self._sessions.read() as session:
            return stream_replay.replay(session, stream_replay.epoch_of_run(session, run_id), run_id)
