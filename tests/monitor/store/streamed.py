"""Streams of a made-up endpoint, and the runs that feed them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from monitor.drift.evidence import Combining, Evidence, ExactP, Null, Scores, Statement, StreamKey, Tier
from monitor.drift.levels import DAY
from monitor.drift.score_stream import Round, StreamRule
from monitor.store import EndpointRecord, Store
from monitor.store.stream_records import Added, EpochPlan
from monitor.store.streams import Streams
from tests.monitor.drift.rounds import days_of
from tests.monitor.store.material import AT, later, start

STACK = "stack-1"
RULE = StreamRule(seed=7)
NOON = AT.timestamp()
TODAY = int(NOON // DAY)


def key(endpoint: EndpointRecord, tier: Tier = Tier.SAMPLING, probe_set: str = "draws-1") -> StreamKey:
    return StreamKey(endpoint.id, tier, probe_set)


def plan(keys: Iterable[StreamKey], escalation: Iterable[StreamKey] = (), stack: str = STACK) -> EpochPlan:
    return EpochPlan(stack, dict.fromkeys(keys, RULE), dict.fromkeys(escalation, RULE))


def exact(p: float) -> ExactP:
    return ExactP(p, Null.REFERENCE, Combining.MULTIPLY)


def begun(store: Store, endpoint: EndpointRecord, minutes: float = 0.0) -> str:
    return store.begin_run(start(endpoint.id), at=later(minutes))


def said(stream: StreamKey, says: Statement, minutes: float = 0.0) -> Evidence:
    return Evidence(stream, NOON + 60.0 * minutes + 0.123456, says, n=8, tokens=200, reasons=("a reason",))


def fed(store: Store, endpoint: EndpointRecord, *evidence: Evidence, minutes: float = 0.0) -> Added:
    """Added by a run of its own."""
    run_id = begun(store, endpoint, minutes)
    return Streams(store.sessions).add(run_id, evidence, stack=STACK, at=later(minutes))


def fed_each(store: Store, endpoint: EndpointRecord, stream: StreamKey, p_values: Sequence[float]) -> list[Added]:
    """An exact p a minute."""
    return [
        fed(store, endpoint, said(stream, exact(p), minutes), minutes=minutes) for minutes, p in enumerate(p_values)
    ]


def scored(stream: StreamKey, one: Round) -> Evidence:
    return Evidence(stream, one.at, Scores((one.score,)))


def hourly(
    store: Store, endpoint: EndpointRecord, stream: StreamKey, scores: Sequence[float], *, first: int = 0
) -> list[Added]:
    """A round of such a score an hour, `first` hours from now on."""
    return [
        fed(store, endpoint, scored(stream, Round(NOON + 3_600.0 * hour + 1.0, score)), minutes=60 * hour)
        for hour, score in enumerate(scores, first)
    ]


def levelled(store: Store, endpoint: EndpointRecord, probe_set: str = "anchors-1") -> StreamKey:
    """A stream of scores whose first epoch has levels from fourteen days before today."""
    watched = key(endpoint, Tier.LOGPROBS, probe_set)
    Streams(store.sessions).open(endpoint.id, plan([watched]), at=AT, baselines={watched: baseline()})
    return watched


def baseline(seed: int = 0) -> list[Round]:
    """Fourteen days of rounds up to now, lawful enough for levels."""
    return days_of(np.random.default_rng(seed), 14, first=TODAY - 14)
