"""What a run of agent loops sends."""

from __future__ import annotations

import asyncio
from functools import partial

from probes.client import Client
from probes.conversation import hold, replay
from probes.loops.loop import Arm, Settings
from probes.loops.plan import LoopPlan, plan
from probes.loops.runs import runs_of
from probes.loops.selection import exercises
from probes.plan import Plan, ProbeKind, Sample
from tests.endpoints.server import ScriptedServer
from tests.endpoints.tool_caller import ToolCaller
from tests.probes.loops.agents import diligent
from tests.probes.sending import target

SEED = b"an installation"


def made(
    nonce: bytes = b"nonce", *, arms: tuple[Arm, ...] = (Arm.OWN_IDS,), reps: int = 1, room: int | None = None
) -> LoopPlan:
    return plan(exercises(SEED, 0), Settings(), seed=SEED, run_nonce=nonce, arms=arms, trials=2, reps=reps, room=room)


def held(asked: Plan) -> list[Sample]:
    """All its conversations, with an agent that takes the shortest way."""
    samples: list[Sample] = []

    async def session(base_url: str) -> None:
        async with Client(target(base_url)) as client:
            talks = [partial(hold, talk=one.begin()) for one in asked.conversations]
            await client.converse(talks, on_sample=samples.append)

    with ScriptedServer(ToolCaller(diligent)) as server:
        asyncio.run(session(server.base_url))
    return samples


def test_equal_seeds_and_nonces_make_equal_plans_and_another_nonce_the_same_cases_in_other_words() -> None:
    one, other = made(), made(b"another")

    assert one == made()
    assert one.plan.suite_sha256 == other.plan.suite_sha256
    assert {item.key for item in one.plan.foreseen} == {item.key for item in other.plan.foreseen}
    asked = {str(item.request) for item in one.plan.items}
    assert len(asked) == len(one.plan.items)
    assert asked.isdisjoint(str(item.request) for item in other.plan.items)


def test_every_turn_is_asked_and_every_exercise_held_in_each_arm_once_plain_and_once_streamed() -> None:
    whole = made(arms=tuple(Arm), reps=2)

    assert whole.plan.probe is ProbeKind.AGENT_LOOPS
    assert len(whole.plan.items) == 2 * sum(one.oracle_steps + 1 for one in exercises(SEED, 0))
    assert len({(item.key, item.rep) for item in whole.plan.foreseen}) == len(whole.plan.foreseen)
    ways = {(one.loop.exercise.key, one.loop.arm, one.loop.stream) for one in whole.loops}
    assert len(ways) == len(whole.loops) == 12 * 2 * 2


def test_what_is_foreseen_is_what_the_shortest_way_sends_as_long_as_it_is() -> None:
    asked = made().first(0.3)

    samples = held(asked.plan)

    foreseen = {(item.key, item.rep): item.request for one in asked.loops for item in one.foreseen}
    assert {(one.item.key, one.item.rep) for one in samples} == foreseen.keys()
    for one in samples:
        sent, planned = (len(str(request["messages"])) for request in (one.request, foreseen[one.item.key, 0]))
        assert abs(sent - planned) < 0.1 * planned


def test_what_comes_first_has_all_exercises_before_any_again() -> None:
    half = made().first(0.5)

    assert len({one.loop.exercise.key for one in half.loops}) == len(half.loops) == 12
    assert half.plan.conversations == half.loops


def test_loops_are_what_their_samples_say_in_whatever_order_these_come() -> None:
    asked = made().first(0.2)
    samples = held(asked.plan)

    runs = runs_of(asked.loops, samples)
    cut = runs_of(asked.loops, [one for one in samples if one.item != runs[0].samples[-1].item])

    assert [run.loop for run in runs] == [one.loop for one in asked.loops]
    assert all(run.result.passed for run in runs)
    assert runs_of(asked.loops, samples[::-1]) == runs
    assert cut == runs[1:]
    again = asked.loops[0].begin()
    assert tuple(replay(again, {(one.item.key, one.item.rep): one for one in samples})) == runs[0].samples


def test_with_less_room_for_answers_turns_and_loops_are_others() -> None:
    usual, short = made(), made(room=64)

    asked = [*short.plan.items, *short.plan.foreseen, *(one.begin().item for one in short.loops)]
    assert {item.request["max_tokens"] for item in asked} == {64}
    assert {item.key for item in usual.plan.items}.isdisjoint(item.key for item in short.plan.items)
    assert {one.loop.key for one in usual.loops}.isdisjoint(one.loop.key for one in short.loops)
    assert [one.loop.exercise for one in usual.loops] == [one.loop.exercise for one in short.loops]
    assert made(room=10_000).plan.items[0].request["max_tokens"] == 2048
