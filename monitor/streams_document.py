"""What an endpoint's rounds add up to, as one document: behind the terminal's view, its JSON and the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from monitor.drift.begun import Begun
from monitor.drift.evidence import Null, Tier
from monitor.drift.rule import Verdict
from monitor.drift.stream_standing import Phase
from monitor.store.vocabulary import StreamLevel


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_serialization_defaults_required=True)


class EpochStatement(_Document):
    """The open epoch; evidence of another stack of ours is never added to it."""

    number: int
    stack: str
    opened_at: datetime
    ends_at: datetime = Field(description="where nothing else ends it before")


class PromiseStatement(_Document):
    """While the endpoint's streams keep to their levels, the chance that its E reaches `drift_at` within the epoch is
    at most `alpha`, however often one looks."""

    alpha: float
    epoch_days: float
    shown_at: float
    suspect_at: float
    drift_at: float


class LevelsStatement(_Document):
    """The null: a round's mean score, given everything before it, is at most `hourly`, and that of days at most
    `daily`; both lie `delta` above what was seen, or more. Of counts, the share that is lawful is both."""

    hourly: float
    daily: float
    delta: float
    days: int = Field(description="that they come from")


class OnsetStatement(_Document):
    """The change began after `after` (null: it may have been there from the beginning) and not later than `until`,
    likeliest with the round at `first`."""

    first: datetime
    after: datetime | None
    until: datetime
    detected: datetime = Field(description="when the proof was there")


class LastEvidence(_Document):
    """The last piece of evidence that a stream was given."""

    sequence: int
    run_id: str
    at: datetime
    reasons: tuple[str, ...]


class StreamStatement(_Document):
    """One stream: a tier and a version of what is asked. `worth` is its E; `weight` its share of the endpoint's."""

    tier: Tier
    probe_set: str
    escalation: int = Field(description="0, or the number of the escalation that it is of")
    verdict: Verdict
    worth: float
    weight: float
    phase: Phase
    reason: str = Field(description="why nothing is said, or why there are no levels yet")
    calibrating_since: datetime | None
    levels_at: datetime | None = Field(description="when levels can be there, at the earliest")
    null: Null | None = Field(description="what its bets rest on; null before the first evidence")
    levels: LevelsStatement | None
    begun: Begun
    rounds: int
    answers: int
    tokens: int
    last: LastEvidence | None
    onset: OnsetStatement | None


class EscalationStatement(_Document):
    """Answers that no stream has seen: `staked` of the endpoint's winnings are on it, and are worth `worth` times as
    much by now."""

    number: int
    staked: float
    worth: float


class EventStatement(_Document):
    """What came of a look."""

    at: datetime
    event: str
    worth: float
    run_id: str | None


class StreamsDocument(_Document):
    """How an endpoint's streams stand. Without an open epoch, what is said of one is null or empty."""

    endpoint_id: str
    provider: str
    model: str
    served_name: str
    epoch: EpochStatement | None
    verdict: Verdict | None
    level: StreamLevel | None
    worth: float | None = Field(description="the endpoint's E: what 1 staked on a change has become")
    held: str | None = Field(description="why what is proven is not called drift")
    looked_at: datetime | None
    promise: PromiseStatement | None
    streams: tuple[StreamStatement, ...]
    escalation: EscalationStatement | None
    onset: OnsetStatement | None
    events: tuple[EventStatement, ...]
    coming: tuple[str, ...] = Field(description="what comes next, in sentences")


class ShownStreams(_Document):
    """What `monitor drift show --json` prints."""

    schema_: Literal["monitor.drift_show/1"] = Field(default="monitor.drift_show/1", alias="schema")
    items: tuple[StreamsDocument, ...]
