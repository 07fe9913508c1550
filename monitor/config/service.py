"""The sections of the configuration file that make the probe run by itself: when, what alerts, and whom it reaches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from monitor.config.asking import MOST_PER_SECOND, MOST_PROMPT_TOKENS, MOST_STREAMS
from monitor.config.section import Section
from monitor.config.times import Cron, Duration, LocalTime, LongDuration, Part, RecurrenceRule, TimeZone
from monitor.config.values import NON_EMPTY, ChannelUrl, EventName, Matchers, SecretReference, Slug, Text

# The id of the schedule that `defaults` make for whatever no schedule matches.
DEFAULT_SCHEDULE = "default"

Probe = Literal[
    "logprobs", "accounting", "latency", "tool_calls", "protocol", "agent_loops", "sampling", "greedy", "border"
]
SeverityName = Literal["info", "warning", "critical"]
CatchUp = Literal["skip", "once"]
Labels = Annotated[tuple[Text, ...], *NON_EMPTY]


class StreamLoad(Section):
    """Under which load `latency` is measured: `rate` streams a second on average, whatever becomes of those before, and
    `streams` of each of the `sizes` of prompts, in tokens."""

    rate: Annotated[float, Field(gt=0, le=MOST_PER_SECOND)] = 1.0
    streams: Annotated[int, Field(gt=0, le=MOST_STREAMS)] = 20
    sizes: Annotated[tuple[Annotated[int, Field(gt=0, le=MOST_PROMPT_TOKENS)], ...], *NON_EMPTY] = (200, 2_000, 6_000)


class Schedule(Section):
    """When the endpoints that `match` are checked, and by which probes; the first schedule that matches is the one.

    Exactly one of `every` (seconds) and `cron` (in `tz`). `jitter` is the part of `every` by which a slot may be late.
    `catch_up`: after a gap, `once` makes up for the latest missed slot, `skip` waits for the next. `deadline`: seconds
    after the slot at which an unfinished check has expired; None: one interval. `load`: None for streams that go one
    after another.
    """

    id: Slug
    match: Matchers = Field(default_factory=dict)
    every: LongDuration | None = None
    cron: Cron | None = None
    tz: TimeZone = "UTC"
    jitter: Part = 0.2
    catch_up: CatchUp = "skip"
    deadline: LongDuration | None = None
    probes: Annotated[tuple[Probe, ...], *NON_EMPTY] = ("logprobs", "accounting", "latency")
    n: Annotated[int, Field(ge=1, le=10_000)] = 40
    load: StreamLoad | None = None


class Rule(Section):
    """What is made of the findings that `match`; when an alert fires is the one rule of detection and not set here.

    `clear_for`: unchanged checks in a row that resolve. `keep_firing_for` and `no_data_after` are in intervals of the
    endpoint's schedule. `error_after`: failed checks in a row that make an availability alert.
    """

    id: Slug
    match: Matchers = Field(default_factory=dict)
    severity: SeverityName = "critical"
    clear_for: Annotated[int, Field(ge=1, le=100)] = 3
    keep_firing_for: Annotated[int, Field(ge=0, le=100)] = 2
    no_data_after: Annotated[int, Field(ge=1, le=100)] = 3
    error_after: Annotated[int, Field(ge=1, le=100)] = 2
    enabled: bool = True


class Channel(Section):
    """Where notices go. `url` may be a reference, since many addresses are credentials.

    `secret` (webhooks of format standard) is `whsec_…`; `previous_secret` stays valid while it is rotated.
    """

    id: Slug
    kind: Literal["webhook", "apprise"] = "webhook"
    url: ChannelUrl
    format: Literal["standard", "alertmanager_v4", "slack", "discord"] = "standard"
    secret: SecretReference | None = None
    previous_secret: SecretReference | None = None
    allow_private: bool = False
    per_minute: Annotated[int, Field(gt=0, le=10_000)] = 30
    events: Annotated[tuple[EventName, ...], *NON_EMPTY] | None = None


class Route(Section):
    """Which alerts reach which channels, and how they are gathered into one notice. Durations in seconds."""

    id: Slug
    match: Matchers = Field(default_factory=dict)
    to: Annotated[tuple[Slug, ...], *NON_EMPTY]
    group_by: Labels = ("provider",)
    group_wait: Duration = 30.0
    group_interval: LongDuration = 300.0
    repeat: LongDuration = 86_400.0
    min_severity: SeverityName = "info"


class Maintenance(Section):
    """A time in which notices of what matches are held back: once (`starts`), or again and again (`rrule` in `tz`)."""

    id: Slug
    match: Matchers = Field(default_factory=dict)
    starts: LocalTime | None = None
    rrule: RecurrenceRule | None = None
    tz: TimeZone = "UTC"
    duration: LongDuration


class Retention(Section):
    """How long things are kept, in seconds; evidence, alerts and daily rollups are kept for good."""

    bodies: LongDuration = 14 * 86_400.0
    samples: LongDuration = 90 * 86_400.0
    rollups_hour: LongDuration = 400 * 86_400.0
    deliveries: LongDuration = 30 * 86_400.0
