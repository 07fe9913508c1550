"""An endpoint's streams within one epoch, as a value: what their evidence adds up to, and what each look concludes.

All of it is the fold of evidence and looks in the order in which they came, so that a store computes it anew, bit for
bit, by the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from monitor.drift.begun import Begun
from monitor.drift.decision import Average, EndpointState, Event, closed, look, weights
from monitor.drift.evidence import Evidence, StreamKey
from monitor.drift.levels import DAY
from monitor.drift.score_stream import Round, ScoreStream, StreamRule
from monitor.drift.streams import Closing, Epoch, StreamState


def opening(begun: Begun, new: StreamState, prior: StreamState | None, baseline: Iterable[Round] | None) -> StreamState:
    """A stream's first state within an epoch. new: a stream of this key, rule and epoch without any evidence; prior:
    its last state in the epoch before, which only a new stream lacks; baseline: rounds to take levels from, where there
    are any.

    Raises ValueError for a stream that goes on from nothing.
    """
    if begun is Begun.NEW:
        if baseline is None:
            return new
        return replace(new, process=ScoreStream.with_baseline(new.rule, baseline, new.epoch.opened_at))
    if prior is None:
        raise ValueError(f"{new.key} is {begun.value} and has no state before epoch {new.epoch.number}")
    return prior.renewed(new.epoch) if begun is Begun.RENEWED else prior.rebased(new.epoch, baseline or ())


def weights_of(streams: Mapping[StreamKey, StreamState]) -> dict[StreamKey, float]:
    """In the order of the streams."""
    return weights(streams, {key for key, state in streams.items() if not state.rule.proves})


@dataclass(frozen=True, slots=True)
class Escalation:
    """Streams on answers that no other stream has seen, all begun when a suspicion was. `number` counts an epoch's
    escalations from 1; without streams none is open."""

    number: int = 0
    streams: Mapping[StreamKey, StreamState] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """What 1 staked on it has become, by streams that may prove something."""
        if not self.streams:
            return 1.0
        return Average.of(self.streams.values(), weights_of(self.streams)).proven


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at a look, before anything was staked on an escalation. `worth` is the endpoint's E."""

    average: Average
    escalated: float
    worth: float
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class EndpointStreams:
    """`streams` are set when the epoch begins, and with them their weights; `planned` are those that an escalation
    asks. Both are in the order of their keys, so that sums are the same ones at every replay."""

    epoch: Epoch
    streams: Mapping[StreamKey, StreamState]
    planned: Mapping[StreamKey, StreamRule]
    state: EndpointState = field(default_factory=EndpointState)
    escalation: Escalation = field(default_factory=Escalation)

    @classmethod
    def opened(cls, epoch: Epoch, streams: Iterable[StreamState], planned: Mapping[StreamKey, StreamRule]) -> Self:
        states = {one.key: one for one in sorted(streams, key=lambda one: one.key)}
        return cls(epoch, states, dict(sorted(planned.items())))

    @property
    def average(self) -> Average:
        return Average.of(self.streams.values(), weights_of(self.streams))

    @property
    def worth(self) -> float:
        """The endpoint's E, of what may prove something."""
        return self.state.worth(self.average.proven, self.escalation.value)

    @property
    def ends_at(self) -> float:
        """When the epoch expires; the shortest of its streams' epochs counts."""
        days = min((one.rule.epoch_days for one in self.streams.values()), default=StreamRule().epoch_days)
        return self.epoch.opened_at + days * DAY

    def ended(self, at: float, stack: str) -> Closing | None:
        """Why the epoch is over."""
        if stack != self.epoch.stack:
            return Closing.OUR_STACK
        return Closing.EXPIRED if at >= self.ends_at else None

    def after(self, evidence: Evidence) -> Self:
        """Raises KeyError for a stream that is not one of the epoch's, ValueError as `StreamState.after` does."""
        state = self.streams[evidence.stream].after(evidence)
        return replace(self, streams={**self.streams, evidence.stream: state})

    def after_escalated(self, evidence: Evidence) -> Self:
        """The same for a stream of the open escalation."""
        streams = self.escalation.streams
        state = streams[evidence.stream].after(evidence)
        return replace(self, escalation=replace(self.escalation, streams={**streams, evidence.stream: state}))

    def looked(self, at: float, our_side: str | None = None) -> tuple[Self, Look]:
        """After a look at `at`. A suspicion opens an escalation; where none is planned, nothing stays staked on it."""
        average, escalated = self.average, self.escalation.value
        found = look(self.state, average, escalated, our_side)
        after = replace(self, state=found.state)
        if found.state.staked and not self.state.staked:
            after = after._escalated(at)
        return after, Look(average, escalated, self.state.worth(average.proven, escalated), found.events)

    def _escalated(self, at: float) -> Self:
        if not self.planned:
            return replace(self, state=closed(self.state, self.average, 1.0))
        epoch = replace(self.epoch, opened_at=at)
        begun = {key: StreamState(key, rule, epoch) for key, rule in self.planned.items()}
        return replace(self, escalation=Escalation(self.escalation.number + 1, begun))

    def without_escalation(self) -> Self:
        """Its answers are all in: what became of the stake goes back, unless there is nothing left to add it to."""
        state = closed(self.state, self.average, self.escalation.value)
        if state.staked:
            return self
        return replace(self, state=state, escalation=Escalation(self.escalation.number))
