"""The values that go into the store of streams and come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.drift.decision import Event
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import StreamKey
from monitor.drift.score_stream import StreamRule
from monitor.store.vocabulary import EpochEnd

if TYPE_CHECKING:
    from monitor.drift.border_scores import BorderInputs
    from monitor.drift.broken_calls import CaseCalls
    from monitor.drift.evidence import Evidence
    from monitor.drift.findings import Finding
    from monitor.drift.first_baseline import AgainstFirst
    from monitor.drift.listing import Listing


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """What is watched for an epoch, and how; with other streams it is another epoch. `stack` is a digest of our engine,
    its libraries and the detectors; `escalation` are the streams that a suspicion asks, on answers of their own."""

    stack: str
    streams: Mapping[StreamKey, StreamRule]
    escalation: Mapping[StreamKey, StreamRule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """`against_first`: how far what its streams were begun with is from the first ones for ever."""

    endpoint_id: str
    number: int
    stack: str
    opened_at: datetime
    closed_at: datetime | None
    why: EpochEnd | None
    note: str | None
    closed_by: str | None
    against_first: Mapping[StreamKey, AgainstFirst]


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a run's evidence. `sequences` are those of what was new: none where the run was added before.
    `streams` is what the endpoint's epoch came to, `events` what the look at it found."""

    sequences: tuple[int, ...]
    streams: EndpointStreams
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first evidence (by its sequence) after which what is stored is not what was computed anew. `stream` is None
    where it is the endpoint's own state."""

    sequence: int
    stream: StreamKey | None
    stored: str
    computed: str

    def __str__(self) -> str:
        whose = "the endpoint" if self.stream is None else f"{self.stream.tier.value} {self.stream.probe_set}"
        return f"after evidence {self.sequence}, {whose}: {self.stored} is stored, {self.computed} computed"


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """What one run's evidence changed, computed anew."""

    run_id: str
    sequences: tuple[int, ...]
    before: EndpointStreams
    after: EndpointStreams
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """An epoch computed anew from `evidence` pieces of evidence and `looks` looks. `exact`: texts of states were
    compared, and not values alone, as where states are stored in an earlier form."""

    epoch: EpochRecord
    evidence: int
    looks: int
    exact: bool
    final: EndpointStreams
    run: ReplayedRun | None
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Fed:
    """What a run tells its endpoint's streams. stack: as in `EpochPlan`; found: what the run was found to be by itself,
    a finding a stream; evidence: what it says of streams of its own, whose time is the run's; listings: the answers to
    its anchors; cases: what became of its tool calls; tokens: what its answers cost; rounds_a_day: as scheduled, None
    where nothing schedules it; border: the border inputs that were asked, None where there are none yet; escalates:
    what it says is for the open escalation alone."""

    stack: str
    found: Mapping[str, Finding] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    listings: tuple[Listing, ...] = ()
    cases: tuple[CaseCalls, ...] = ()
    tokens: int = 0
    rounds_a_day: int | None = None
    border: BorderInputs | None = None
    escalates: bool = False

    @property
    def has_values(self) -> bool:
        """Whether any answer brought log-probabilities."""
        return any(one.usable.values for one in self.listings)
