"""Whatever comes, whenever, into whatever memory: every request gets what it gets alone."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_engine.errors import EngineRequestError
from reference_engine.sched.limits import Limits
from reference_engine.sched.request import Request
from tests.reference_engine.sched.readable_memory import ArenaMemory
from tests.reference_engine.sched.toy_engine import ToyEngine, drafter
from tests.reference_engine.sched.toy_memory import ToyMemory
from tests.reference_engine.sched.toy_model import VOCABULARY, alone

STEMS = [[random.Random(stem).randrange(VOCABULARY) for _ in range(60)] for stem in range(2)]


@dataclass(frozen=True)
class Arrival:
    """`stem` tokens are shared with others; a follow-up goes on from the answer of the request before it."""

    step: int
    family: int
    stem: int
    own: tuple[int, ...]
    follow_up: bool
    start: float
    max_tokens: int
    priority: int
    aborted_at: int | None


TOKENS = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=20).map(tuple)
ARRIVALS = st.builds(
    Arrival,
    step=st.integers(0, 25),
    family=st.integers(0, 1),
    stem=st.integers(0, 60),
    own=TOKENS,
    follow_up=st.booleans(),
    start=st.floats(0, 1),
    max_tokens=st.sampled_from([0, 0, 1, 2, 7, 30]),
    priority=st.integers(0, 2),
    aborted_at=st.none() | st.integers(0, 40),
)
LIMITS = st.builds(
    Limits,
    token_budget=st.sampled_from([1, 2, 3, 8, 17, 64]),
    max_running=st.integers(1, 6),
    max_drafted=st.integers(0, 5),
)
DRAFTERS = st.none() | st.builds(drafter, skill=st.sampled_from([0, 0.5, 0.9, 1]), seed=st.integers(0, 9))
PAGES = st.integers(4, 14)
WINDOWS = st.sampled_from([0, 1, 5, 16, 17, 40])
ENGINES = st.builds(
    ToyEngine,
    memory=st.builds(ToyMemory, PAGES) | st.builds(ArenaMemory, PAGES, WINDOWS),
    limits=LIMITS,
    overlap=st.booleans(),
    drafts=DRAFTERS,
    slow=st.booleans(),
    failing=st.just(frozenset()) | st.frozensets(st.integers(1, 30), max_size=2),
)


def prompts(arrivals: list[Arrival]) -> list[list[int]]:
    asked: list[list[int]] = []
    answer: list[int] = []
    for arrival in arrivals:
        earlier = answer if arrival.follow_up else STEMS[arrival.family][: arrival.stem]
        asked.append([*earlier, *arrival.own])
        answer = alone(asked[-1], arrival.max_tokens)
    return asked


def serve(engine: ToyEngine, arrivals: list[Arrival], give_way: frozenset[int] = frozenset()) -> None:
    """Runs all arrivals to their end and checks every answer; at the steps `give_way` somebody is preempted."""
    coming, leaving = defaultdict(list), defaultdict(list)
    for number, (arrival, prompt) in enumerate(zip(arrivals, prompts(arrivals), strict=True)):
        start = round(arrival.start * len(prompt))
        coming[arrival.step].append(Request(str(number), prompt, start, arrival.max_tokens, arrival.priority))
        if arrival.aborted_at is not None:
            leaving[arrival.aborted_at].append(str(number))
    for step in range(41):
        for request in coming[step]:
            try:
                engine.add(request)
            except EngineRequestError:
                assert not engine.memory.fits(request.most_rows, engine.limits.token_budget)
        if step in give_way:
            engine.scheduler.give_way()
        engine.step([request_id for request_id in leaving[step] if request_id in engine.requests])
    engine.drain(most_steps=4 * sum(request.most_rows for request in engine.requests.values()) + 2)
    engine.check_answers()


@settings(max_examples=60)
@given(
    engine=ENGINES,
    arrivals=st.lists(ARRIVALS, min_size=1, max_size=8),
    give_way=st.frozensets(st.integers(0, 40), max_size=6),
)
def test_every_request_gets_what_it_gets_alone(
    engine: ToyEngine, arrivals: list[Arrival], give_way: frozenset[int]
) -> None:
    serve(engine, arrivals, give_way)


@pytest.mark.parametrize("window", [0, 20])
@pytest.mark.parametrize(
    ("overlap", "skill"), [(True, None), (False, 0.7), (True, 0.7)], ids=["overlap", "drafts", "both"]
)
def test_a_long_crowded_run_gives_every_request_what_it_gets_alone(
    overlap: bool, skill: float | None, window: int
) -> None:
    rng = random.Random(7)
    arrivals = [
        Arrival(
            step=rng.randrange(41),
            family=rng.randrange(2),
            stem=rng.randrange(31),
            own=tuple(rng.randrange(VOCABULARY) for _ in range(rng.randint(1, 9))),
            follow_up=False,
            start=rng.random(),
            max_tokens=rng.choice([0, 3, 60]),
            priority=rng.choice([0, 0, 0, 1]),
            aborted_at=rng.choice([None] * 9 + [rng.randrange(41)]),
        )
        for _ in range(100)
    ]
    engine = ToyEngine(
        memory=ArenaMemory(14 if window else 10, window),
        limits=Limits(token_budget=24, max_running=12, max_drafted=4),
        overlap=overlap,
        drafts=None if skill is None else drafter(skill, seed=1),
    )

    serve(engine, arrivals)

    assert engine.scheduler.counts.preemptions > 9
    assert engine.scheduler.counts.cached_tokens > 300
