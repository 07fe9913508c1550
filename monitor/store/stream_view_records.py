"""The values that are read of an endpoint's streams to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from monitor.drift.begun import Begun
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.onset import Onset
from monitor.drift.streams import StreamState
from monitor.store.stream_records import EpochRecord
from monitor.store.vocabulary import LookKind, StreamLevel, StreamTier


@dataclass(frozen=True, slots=True)
class LookRecord:
    """What was seen at a look: `worth` is the endpoint's E then. `value` is the average of all streams, `proven` counts
    those without levels as 1, `escalated` is what the escalation's own stake had become."""

    id: int
    epoch: int
    kind: LookKind
    at: datetime
    run_id: str | None
    level: StreamLevel
    worth: float
    value: float
    proven: float
    escalated: float
    events: tuple[str, ...]
    our_side: str | None


@dataclass(frozen=True, slots=True)
class StreamEvidenceRecord:
    """What one run said of one stream. `says` are JSON values; `value` is what the stream had come to afterwards."""

    id: int
    sequence: int
    epoch: int
    escalation: int
    tier: StreamTier
    probe_set: str
    run_id: str
    at: datetime
    says: Mapping[str, Any]
    n: int
    tokens: int
    reasons: tuple[str, ...]
    value: float
    added_at: datetime


@dataclass(frozen=True, slots=True)
class StreamView:
    """A stream of an epoch, or of its open escalation (counted from 1; 0: none). `weight` is its share of the average;
    `rounds`, `answers` and `tokens` are the epoch's; `onset`: since when, where it says that something changed."""

    state: StreamState
    escalation: int
    begun: Begun
    weight: float
    rounds: int
    answers: int
    tokens: int
    last: StreamEvidenceRecord | None
    onset: Onset | None


@dataclass(frozen=True, slots=True)
class EndpointView:
    """An endpoint's open epoch. `news` are the looks that something came of, the first one first; `onset` is that of
    the stream which tells it best, where drift was proven: that is when it was `detected`."""

    epoch: EpochRecord
    now: EndpointStreams
    streams: tuple[StreamView, ...]
    last: LookRecord | None
    news: tuple[LookRecord, ...]
    onset: Onset | None

    @property
    def rounds(self) -> int:
        """Of all streams together."""
        return sum(one.rounds for one in self.streams)


@dataclass(frozen=True, slots=True)
class PathPoint:
    """An endpoint's E at one look: `value` is the average of all streams, those without levels among them."""

    at: datetime
    epoch: int
    level: StreamLevel
    worth: float
    value: float
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StreamPath:
    """`points` in order of time; thinned where there were more than `looks` of them. `epochs` are those that the time
    touches."""

    points: tuple[PathPoint, ...]
    looks: int
    epochs: tuple[EpochRecord, ...]


@dataclass(frozen=True, slots=True)
class EndpointWorth:
    """An endpoint's E as it was last looked at; 1 before the first look of its epoch."""

    endpoint_id: str
    provider: str
    model: str
    served_name: str
    worth: float
    level: StreamLevel
    held: bool
    at: datetime | None
