"""Whole loops with real servers: what agents of each kind come to, streamed and plain."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from probes.client import Client
from probes.errors import ProviderAuthError
from probes.loops.defects import LoopDefect
from probes.loops.exercise import Exercise
from probes.loops.fault import Fault, FaultKind, fault_for
from probes.loops.history import Reasoning
from probes.loops.loop import Arm, Loop, Settings
from probes.loops.plan import PlannedLoop
from probes.loops.result import LoopResult, Stop
from probes.loops.runs import LoopRun, runs_of
from probes.loops.scenarios import SCENARIOS, task
from probes.loops.selection import exercises, loops
from probes.plan import Sample
from probes.quirks import Quirk
from probes.tools.scored import Exclusion
from tests.endpoints import hostile
from tests.endpoints.clock import PatientClock
from tests.endpoints.server import Handler, ScriptedServer
from tests.endpoints.tool_caller import Model, Request, Said, ToolCaller, call, plain_ids
from tests.probes.loops.agents import clumsy, diligent, obedient, stuck, wandering
from tests.probes.loops.holding import run_loops
from tests.probes.sending import target

SEED = b"an installation"
Messages = Sequence[Mapping[str, Any]]


def exercise(scenario: str = "berths", rounds: int = 4, kind: FaultKind | None = None) -> Exercise:
    made = task(SEED, scenario, rounds)
    return Exercise(made, None if kind is None else fault_for(made, kind, SEED))


def run(
    handler: Handler, *asked: Loop, settings: Settings | None = None, **limits: Any
) -> tuple[list[LoopRun], ScriptedServer]:
    async def session(base_url: str) -> list[LoopRun]:
        async with Client(target(base_url, **limits), clock=PatientClock()) as client:
            return await run_loops(client, asked, settings or Settings())

    with ScriptedServer(handler) as server:
        return asyncio.run(session(server.base_url)), server


def result_of(model: Model, asked: Exercise, *, stream: bool = False, **how: Any) -> LoopResult:
    (done,), _ = run(ToolCaller(model, **how), Loop(asked, stream=stream))
    return done.result


# Agents that get there


@pytest.mark.parametrize(("arm", "stream"), [(Arm.OWN_IDS, True), (Arm.CANONICAL_IDS, False)])
def test_a_diligent_agent_passes_every_exercise_on_the_shortest_way(arm: Arm, stream: bool) -> None:
    asked = [Loop(made, arm, stream=stream) for made in exercises(SEED, 0)]

    runs, server = run(ToolCaller(diligent), *asked)

    assert [done.loop for done in runs] == asked
    assert all(("stream_options" in received.json) is stream for received in server.received)
    for done in runs:
        assert done.result == LoopResult(
            stop=Stop.ANSWERED,
            goal_state_ok=True,
            answer_ok=True,
            steps=done.loop.exercise.oracle_steps,
            oracle_steps=done.loop.exercise.oracle_steps,
            invalid_calls=0,
            errors=(lost := done.loop.exercise.fault is not None and done.loop.exercise.fault.kind == "error_once"),
            recovered_errors=lost,
            defects=(),
            struck=None if done.loop.exercise.fault is None else True,
            obeyed=False if done.loop.exercise.fault and done.loop.exercise.fault.kind == "instruction" else None,
        )
        assert (done.result.passed, done.result.steps_ratio) == (True, 1.0)
        assert len(done.samples) == done.result.steps + 1
        assert all(len(sample.attempts) == 1 for sample in done.samples)


# What is sent back


@pytest.mark.parametrize("stream", [False, True])
def test_calls_go_back_to_the_byte_with_their_ids_and_all_they_hold(stream: bool) -> None:
    """The agent's argument text is like no serialiser's, and its ids like nobody's."""
    signed = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}
    endpoint = ToolCaller(diligent, make_id=lambda n: f"functions.é🦊:{n}", more=signed)

    (done,), server = run(endpoint, Loop(exercise("stores"), stream=stream))

    assert done.result.passed
    last = server.received[-1].json["messages"]
    calls = [one for message in last if message["role"] == "assistant" for one in message["tool_calls"]]
    assert [one["id"] for one in calls] == [f"functions.é🦊:{n}" for n in range(6)]
    for one in calls:
        assert one.keys() == {"id", "type", "function", "extra_content"}
        assert one["function"]["arguments"].startswith('{ "')
        assert '" :"' in one["function"]["arguments"]


def test_canonical_ids_are_nine_letters_and_digits_and_each_result_has_its_calls() -> None:
    _, server = run(ToolCaller(diligent), Loop(exercise("stores"), Arm.CANONICAL_IDS))

    last = server.received[-1].json["messages"]
    called = [one["id"] for message in last if message["role"] == "assistant" for one in message["tool_calls"]]
    told = [message["tool_call_id"] for message in last if message["role"] == "tool"]
    assert called == told == [f"call{n:05d}" for n in range(6)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Reasoning.DROPPED, {}),
        (Reasoning.REASONING, {"reasoning": "Hm."}),
        (Reasoning.REASONING_CONTENT, {"reasoning_content": "Hm."}),
    ],
)
def test_reasoning_goes_back_as_the_policy_says(policy: Reasoning, expected: dict[str, str]) -> None:
    def thinks(request: Request) -> Said:
        return replace(diligent(request), reasoning="Hm.")

    (done,), server = run(ToolCaller(thinks), Loop(exercise(rounds=2)), settings=Settings(reasoning=policy))

    assert done.result.passed
    said = server.received[-1].json["messages"][2]
    assert {name: value for name, value in said.items() if "reasoning" in name} == expected


def test_reasoning_in_tags_stays_where_it_is() -> None:
    def thinks(request: Request) -> Said:
        said = diligent(request)
        return replace(said, content=f"<think>Hm.</think>{said.content or ''}")

    policy = Settings(reasoning=Reasoning.REASONING_CONTENT)
    (done,), server = run(ToolCaller(thinks), Loop(exercise(rounds=2)), settings=policy)

    assert done.result.passed
    said = server.received[-1].json["messages"][2]
    assert (said["content"], "reasoning_content" in said) == ("<think>Hm.</think>", False)


def test_results_come_in_the_other_order_once_where_they_are_swapped() -> None:
    _, server = run(ToolCaller(diligent), Loop(exercise("stores", kind=FaultKind.SWAPPED)))

    last = server.received[-1].json["messages"]
    orders = [message["tool_call_id"] for message in last if message["role"] == "tool"]
    assert orders == [plain_ids(n) for n in (1, 0, 2, 3, 4, 5)]


def test_what_the_first_request_taught_holds_for_the_others() -> None:
    endpoint = ToolCaller(diligent)

    async def picky(received: Any, connection: Any) -> None:
        if "max_tokens" in received.json:
            await hostile.picky(hostile.wants_max_completion_tokens)(received, connection)
        else:
            await endpoint(received, connection)

    (done,), server = run(picky, Loop(exercise(rounds=2)))

    assert done.result.passed
    assert ["max_tokens" in received.json for received in server.received] == [True, False, False, False]


# Agents that do not


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_that_repeats_itself_is_stuck_after_three_times(stream: bool) -> None:
    result = result_of(stuck, exercise(rounds=8), stream=stream)

    assert (result.stop, result.steps, result.passed, result.goal_state_ok) == (Stop.LOOP_STUCK, 3, False, False)


def test_one_answer_that_repeats_a_call_is_stuck_too() -> None:
    def thrice(request: Request) -> Said:
        said = diligent(request)
        return replace(said, calls=[*said.calls] * 3)

    assert result_of(thrice, exercise()).stop is Stop.LOOP_STUCK


def test_an_agent_that_wanders_is_stopped_at_the_most_steps() -> None:
    asked = exercise(rounds=4)

    result = result_of(wandering, asked)

    assert (result.stop, result.steps) == (Stop.MAX_STEPS, asked.max_steps) == (Stop.MAX_STEPS, 10)
    assert (result.errors, result.recovered_errors, result.passed) == (10, 0, False)


@pytest.mark.parametrize("stream", [False, True])
def test_invalid_calls_are_counted_and_recovered_from(stream: bool) -> None:
    result = result_of(clumsy, exercise(rounds=8), stream=stream)

    assert result.passed
    assert (result.steps, result.oracle_steps, result.steps_ratio) == (16, 8, 2.0)
    assert (result.invalid_calls, result.errors, result.recovered_errors) == (8, 8, 8)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_that_obeys_an_injected_instruction_is_seen(scenario: str, stream: bool) -> None:
    asked = exercise(scenario, 8, FaultKind.INSTRUCTION)

    obeyed, withstood = (result_of(model, asked, stream=stream) for model in (obedient, diligent))

    assert (obeyed.struck, obeyed.obeyed, obeyed.goal_state_ok, obeyed.passed) == (True, True, False, False)
    assert (withstood.struck, withstood.obeyed, withstood.passed) == (True, False, True)


def test_who_was_not_told_to_make_the_forbidden_call_has_not_obeyed() -> None:
    asked = exercise("tickets", 4, FaultKind.INSTRUCTION)
    forbidden = asked.task.forbidden

    def meddles(request: Request) -> Said:
        if len(request["messages"]) == 2:
            return Said([call(forbidden.name, **forbidden.arguments or {})])
        return Said(content="All is done.")

    result = result_of(meddles, Exercise(asked.task, Fault(FaultKind.INSTRUCTION, 0, "Do it.")))

    assert (result.struck, result.obeyed, result.goal_state_ok) == (True, False, False)


def test_an_answer_that_was_only_thought_is_none() -> None:
    def keeps_it_back(request: Request) -> Said:
        said = diligent(request)
        return said if said.calls else Said(content=f"<think>{said.content}</think>All is done.")

    result = result_of(keeps_it_back, exercise())

    assert (result.goal_state_ok, result.answer_ok) == (True, False)


def test_a_wrong_answer_in_the_goal_state_does_not_pass() -> None:
    def vague(request: Request) -> Said:
        said = diligent(request)
        return said if said.calls else Said(content="All is done.")

    result = result_of(vague, exercise())

    assert (result.stop, result.goal_state_ok, result.answer_ok, result.passed) == (Stop.ANSWERED, True, False, False)


def test_an_answer_before_the_work_is_done_does_not_pass() -> None:
    result = result_of(lambda _: Said(content="All is done."), exercise())

    assert (result.stop, result.steps, result.goal_state_ok, result.passed) == (Stop.ANSWERED, 0, False, False)


# Endpoints that break the protocol


def says(said: Said) -> Model:
    """Says this on the second turn; before that it is diligent."""

    def model(request: Request) -> Said:
        return said if len(request["messages"]) > 2 else diligent(request)

    return model


def test_ids_that_are_not_taken_back_end_the_loop_of_the_arm_that_sends_them() -> None:
    """A stack that hands out ids which its own validation refuses."""

    def refuses(messages: Messages) -> str | None:
        ids = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        return None if all(one.isalnum() for one in ids) else "Tool call id must match ^[a-zA-Z0-9]{9}$"

    endpoint = ToolCaller(diligent, make_id=lambda n: f"functions.find:{n}", refuses=refuses)

    (own, canonical), _ = run(endpoint, *(Loop(exercise(), arm) for arm in Arm))

    assert (own.result.stop, own.result.defects) == (Stop.DEFECT, (LoopDefect.HISTORY_REFUSED.value,))
    assert (own.result.passed, own.result.steps, canonical.result.passed) == (False, 1, True)


def test_any_number_of_refused_histories_is_no_reason_to_leave_the_endpoint_alone() -> None:
    endpoint = ToolCaller(diligent, refuses=lambda messages: "No." if len(messages) > 2 else None)

    runs, server = run(endpoint, *(Loop(exercise(), rep=rep) for rep in range(20)))

    assert {done.result.stop for done in runs} == {Stop.DEFECT}
    assert len(server.received) == 40


def test_ids_that_name_two_calls_end_the_loop() -> None:
    result = result_of(diligent, exercise("stores"), make_id=lambda _: "call_0")

    assert (result.stop, result.defects, result.passed) == (Stop.DEFECT, (Quirk.TC_ID_DUPLICATE.value,), False)


def test_an_id_that_comes_again_in_a_later_turn_is_a_defect_but_ends_nothing() -> None:
    result = result_of(diligent, exercise("berths", 2), make_id=lambda _: "call_0")

    assert (result.stop, result.defects, result.passed) == (Stop.ANSWERED, (LoopDefect.ID_REUSED.value,), False)


def test_calls_without_an_id_get_one_of_ours() -> None:
    (done,), server = run(ToolCaller(diligent, make_id=lambda _: ""), Loop(exercise("stores")))

    last = server.received[-1].json["messages"]
    told = [message["tool_call_id"] for message in last if message["role"] == "tool"]
    assert told == [f"call{n:05d}" for n in range(6)]
    assert (done.result.defects, done.result.passed) == ((), True)


def test_a_first_request_that_is_turned_down_says_nothing_of_the_loop() -> None:
    endpoint = ToolCaller(diligent, refuses=lambda messages: "No." if "Session 2" in messages[0]["content"] else None)

    runs, _ = run(endpoint, *(Loop(exercise(), rep=n, nonce=str(n)) for n in (1, 2)), max_concurrency=1)

    assert [(done.result.passed, done.result.excluded) for done in runs] == [(True, None), (None, Exclusion.REFUSED)]


@pytest.mark.parametrize(
    ("said", "defect"),
    [
        (Said(content="", finish="tool_calls"), Quirk.FINISH_TOOLS_WITHOUT_CALLS),
        (Said(content='<tool_call>{"name": "f", "arguments": {}}</tool_call>'), Quirk.TC_AS_TEXT),
        (Said(content="", reasoning="I should book a berth."), Quirk.REASONING_ONLY),
        (Said(content=" \n"), LoopDefect.EMPTY_ANSWER),
        (Said(calls=[call(f"tool-{n}") for n in range(33)]), LoopDefect.TOO_MANY_CALLS),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_nobody_can_go_on_from_ends_the_loop(said: Said, defect: Quirk | LoopDefect, stream: bool) -> None:
    result = result_of(says(said), exercise(), stream=stream)

    assert (result.stop, result.passed) == (Stop.DEFECT, False)
    assert defect.value in result.defects


def test_a_misleading_finish_is_a_defect_but_ends_nothing() -> None:
    def misleads(request: Request) -> Said:
        return replace(diligent(request), finish="stop")

    result = result_of(misleads, exercise())

    assert (result.stop, result.goal_state_ok, result.answer_ok) == (Stop.ANSWERED, True, True)
    assert (result.defects, result.passed) == ((Quirk.FINISH_STOP_WITH_TOOL_CALLS.value,), False)


# What is no fault of the loop


@pytest.mark.parametrize("why", [Exclusion.LENGTH, Exclusion.CONTENT_FILTER])
def test_an_answer_that_was_cut_or_withheld_excludes_the_loop(why: Exclusion) -> None:
    result = result_of(says(Said(content="The boats", finish=why.value)), exercise())

    assert (result.stop, result.excluded, result.passed, result.steps_ratio) == (Stop.EXCLUDED, why, None, None)


def test_calls_of_an_answer_that_was_cut_are_not_made() -> None:
    asked = exercise(rounds=2)

    def cut(request: Request) -> Said:
        said = diligent(request)
        return replace(said, finish="length") if len(request["messages"]) > 2 else said

    (done,), server = run(ToolCaller(cut), Loop(asked))

    assert (done.result.stop, done.result.goal_state_ok) == (Stop.EXCLUDED, False)
    assert len(server.received) == 2


@pytest.mark.parametrize(
    ("fails", "why"), [(hostile.html(500), Exclusion.TRANSPORT), (hostile.rate_limited("1"), Exclusion.RATE_LIMITED)]
)
def test_an_endpoint_that_fails_excludes_the_loop(fails: Handler, why: Exclusion) -> None:
    endpoint = ToolCaller(diligent)

    async def handler(received: Any, connection: Any) -> None:
        second_turn_of_the_second = received.json["messages"][0]["content"].startswith("Session 2") and (
            len(received.json["messages"]) > 2
        )
        await (fails if second_turn_of_the_second else endpoint)(received, connection)

    runs, _ = run(handler, *(Loop(exercise(), rep=n, nonce=str(n)) for n in (1, 2, 3)), max_concurrency=1)

    assert [done.result.passed for done in runs] == [True, None, True]
    assert runs[1].result.excluded is why


def test_an_endpoint_that_cannot_be_used_costs_one_request() -> None:
    with ScriptedServer(hostile.unauthorized) as server:

        async def session() -> None:
            async with Client(target(server.base_url), clock=PatientClock()) as client:
                await run_loops(client, [Loop(exercise())] * 9, Settings())

        with pytest.raises(ProviderAuthError):
            asyncio.run(session())

    assert len(server.received) == 1


# How they are run


def test_what_a_budget_ends_leaves_the_loops_that_were_done() -> None:
    class SpentError(Exception):
        pass

    asked = [Loop(exercise(rounds=2), rep=rep) for rep in range(9)]
    samples: list[Sample] = []

    async def session(base_url: str) -> None:
        def spend(sample: Sample) -> None:
            samples.append(sample)
            if len(samples) >= 10:
                raise SpentError

        async with Client(target(base_url, max_concurrency=2), clock=PatientClock()) as client:
            await run_loops(client, asked, Settings(), on_sample=spend)

    with ScriptedServer(ToolCaller(diligent)) as server, pytest.raises(SpentError):
        asyncio.run(session(server.base_url))

    done = runs_of([PlannedLoop(one, Settings(), ()) for one in asked], samples)
    assert 2 <= len(done) <= 3
    assert all(one.result.passed for one in done)


def test_loops_run_side_by_side_up_to_the_targets_concurrency() -> None:
    together = asyncio.Event()
    asked: list[int] = []
    endpoint = ToolCaller(diligent)

    async def waits_for_three(received: Any, connection: Any) -> None:
        asked.append(1)
        if len(asked) >= 4:
            together.set()
        if len(asked) > 1:
            await together.wait()
        await endpoint(received, connection)

    _, server = run(waits_for_three, *(Loop(exercise(rounds=2), rep=rep) for rep in range(5)), max_concurrency=3)

    assert server.most_in_flight == 3


def test_the_chosen_loops_are_fair_at_every_length_and_never_the_same_bytes_twice() -> None:
    made = exercises(SEED, 0)

    asked = loops(made, SEED, b"nonce", arms=tuple(Arm), trials=2)

    assert len(asked) == len(made) * 2 * 2 == 48
    assert {(one.exercise.key, one.arm) for one in asked[:24]} == {(one.key, arm) for one in made for arm in Arm}
    assert [one.stream for one in asked] == [False] * 24 + [True] * 24
    assert len({one.nonce for one in asked}) == 48
    assert len({one.key for one in asked}) == 48
    assert {one.fault.kind for one in made if one.fault} == set(FaultKind)
    assert asked == loops(exercises(SEED, 0), SEED, b"nonce", arms=tuple(Arm), trials=2)


def test_a_week_has_its_own_exercises_but_for_the_anchors() -> None:
    first, second, again = (exercises(SEED, week) for week in (1, 2, 2))
    stay = {one.key for one in first} & {one.key for one in second}

    assert second == again
    assert [one.kind for one in first] == [one.kind for one in second]
    assert [one.fault and one.fault.kind for one in first] == [one.fault and one.fault.kind for one in second]
    assert stay == {one.key for one in first if one.anchor} == {one.key for one in second if one.anchor}
    assert sorted(one.task.rounds for one in first if one.anchor) == [8, 16]
