"""Any order of arrivals, aborts, evictions and records leaves exactly what the dictionary says."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.reference_engine.kv.world import PROFILES, TOP_K, Prefix, World

STEPS = 2_500


def some_ids(rng: random.Random, world: World, profile: int) -> Prefix:
    """New tokens behind something that is known or at work, or behind nothing: most sequences share a beginning."""
    begun = [sequence.ids for sequence in world.running if sequence.profile == profile]
    beginning = rng.choice([(), rng.choice(list(world.cached[profile])), *begun])
    return beginning[:24] + tuple(rng.choices(range(3), k=rng.randint(1, 9)))


def known_ids(rng: random.Random, world: World, profile: int) -> Prefix:
    """Tokens that are known for the most part, and one more."""
    return (*max(rng.choices(list(world.cached[profile]), k=3), key=len), rng.randrange(3))


def step(rng: random.Random, world: World) -> None:
    profile = rng.choice(PROFILES)
    ids = known_ids(rng, world, profile)
    start = rng.randrange(len(ids))
    end = rng.randint(start + 1, len(ids))
    action = rng.choices(
        (
            "start",
            "compute",
            "publish",
            "give_up_passed",
            "finish",
            "abort",
            "store",
            "look up",
            "evict",
            "others",
            "clear",
        ),
        weights=(20, 30, 8, 8, 12, 3, 20, 15, 2, 5, 0.1),
    )[0]
    if action == "start":
        if len(world.running) == 4:
            world.finish(rng.choice(world.running))
        world.start(profile, some_ids(rng, world, profile))
    elif action == "store":
        world.store(profile, ids, start, end, rng.randint(0, TOP_K + 1))
    elif action == "look up":
        world.look_up(profile, ids, start, end, rng.randint(0, TOP_K))
    elif action == "evict":
        world.evict(rng.choice(world.pools.pools), rng.randint(1, 20))
    elif action == "clear":
        world.clear(profile)
    elif action == "others":
        if world.others and rng.random() < 0.6:
            world.give_other(rng.randrange(len(world.others)))
        else:
            world.take_others(rng.randint(1, 2))
    elif world.running:
        sequence = rng.choice(world.running)
        if action == "compute":
            world.compute(sequence, rng.randint(4, 16))
        else:
            getattr(world, action)(sequence)


@pytest.mark.parametrize("seed", range(4))
def test_ten_thousand_random_steps_agree_with_the_dictionary(seed: int) -> None:
    rng, world = random.Random(seed), World()

    for _ in range(STEPS):
        step(rng, world)
        world.check()
    world.drain()

    rare = ("hit in a page", "evicted", "out of memory", "records stored", "records refused", "records served")
    rare += ("hit cut by the window", "given up")
    assert all(world.events[event] > 10 for event in rare), world.events


ids_ = st.lists(st.integers(0, 1), min_size=1, max_size=14).map(tuple)


class ArenaAndTree(RuleBasedStateMachine):
    """The same world, driven by hypothesis: it shrinks what fails to a few steps."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(frames=3)

    @rule(profile=st.sampled_from(PROFILES), ids=ids_)
    def start(self, profile: int, ids: Prefix) -> None:
        self.world.start(profile, ids)

    @precondition(lambda self: self.world.running)
    @rule(
        data=st.data(),
        count=st.integers(1, 9),
        then=st.sampled_from(("publish", "give_up_passed", "finish", "abort", "")),
    )
    def go_on(self, data: st.DataObject, count: int, then: str) -> None:
        sequence = data.draw(st.sampled_from(self.world.running))
        self.world.compute(sequence, count)
        if then and sequence in self.world.running:
            getattr(self.world, then)(sequence)

    @rule(profile=st.sampled_from(PROFILES), ids=ids_, data=st.data(), top_k=st.integers(0, TOP_K))
    def store_and_look_up(self, profile: int, ids: Prefix, data: st.DataObject, top_k: int) -> None:
        start = data.draw(st.integers(0, len(ids) - 1))
        self.world.store(profile, ids, start, len(ids), top_k)
        self.world.look_up(profile, ids, data.draw(st.integers(0, start)), len(ids), top_k)

    @rule(group=st.integers(0, 1), cells=st.integers(1, 20))
    def evict(self, group: int, cells: int) -> None:
        self.world.evict(self.world.pools.pools[group], cells)

    @rule(count=st.integers(1, 3))
    def take_others(self, count: int) -> None:
        self.world.take_others(count)

    @precondition(lambda self: self.world.others)
    @rule()
    def give_other(self) -> None:
        self.world.give_other(0)

    @rule(profile=st.sampled_from(PROFILES))
    def clear(self, profile: int) -> None:
        self.world.clear(profile)

    @invariant()
    def agrees(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        self.world.drain()


TestArenaAndTree = ArenaAndTree.TestCase
TestArenaAndTree.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
