"""Streams of an installation's endpoints, made up: one that bets, one that says nothing and one that calibrates."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from monitor.drift.evidence import Evidence, Inapplicable, Scores, StreamKey, Tier
from monitor.drift.levels import DAY
from monitor.drift.score_stream import StreamRule
from monitor.store import EndpointRecord, Store
from monitor.store.stream_records import EpochPlan
from monitor.store.streams import Streams
from tests.dashboards.material import HOSTILE
from tests.monitor.drift.rounds import days_of
from tests.monitor.store.material import start

STACK = "stack-" + "5" * 32
EVERY = timedelta(hours=4)


def watch(store: Store, endpoint: EndpointRecord, now: datetime, *, lawful: int, moved: int = 0) -> StreamKey:
    """So many rounds, the last one just now: lawful ones, then moved ones. Halfway through the lawful ones the first
    epoch ends. Gives the stream that bets."""
    streams, rng = Streams(store.sessions), np.random.default_rng(7)
    betting, silent, ranked = (
        StreamKey(endpoint.id, tier, name)
        for tier, name in (
            (Tier.LOGPROBS, "a" * 64),
            (Tier.BORDER, "inputs-1"),
            (Tier.GREEDY, "alone-1"),
        )
    )
    first = now - (lawful + moved - 1) * EVERY
    opened = first - timedelta(minutes=1)
    baseline = days_of(rng, 14, first=int(opened.timestamp() // DAY) - 14)
    plan = EpochPlan(STACK, dict.fromkeys((betting, silent, ranked), StreamRule()))
    streams.open(endpoint.id, plan, at=opened, baselines={betting: baseline})
    for number in range(lawful + moved):
        at = first + number * EVERY
        if number == lawful // 2 and number:
            streams.expire(endpoint.id, at=at - timedelta(minutes=1))
        score = 1.0 if number >= lawful else float(rng.binomial(10, 0.1) / 10)
        says = (
            (betting, Scores((score,)), ("moved by 0.3 nat" if score == 1.0 else "as before",)),
            (silent, Inapplicable(HOSTILE), ()),
            (ranked, Scores((0.1,)), (HOSTILE,)),
        )
        evidence = [Evidence(key, at.timestamp(), what, 8, 200, reasons) for key, what, reasons in says]
        streams.add(store.begin_run(start(endpoint.id), at=at), evidence, stack=STACK, at=at)
    return betting
