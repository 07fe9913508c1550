"""The scripted arm: a case for each turn, whose history is whole and whose right answer is the script's."""

from __future__ import annotations

import json
import re

import pytest

from probes.loops.exercise import Exercise, oracle_turns
from probes.loops.fault import FaultKind, fault_for
from probes.loops.scenarios import SCENARIOS, task
from probes.loops.scripted import scripted_cases
from probes.loops.selection import exercises
from probes.plan import Item, Plan, ProbeKind
from probes.tools.case import Category, Trigger
from probes.tools.lint import lint
from probes.tools.pointers import leaves
from probes.tools.score import score
from probes.tools.sketch import Drawn
from tests.endpoints.server import ScriptedServer
from tests.endpoints.tool_caller import Request, Said, ToolCaller
from tests.probes.loops.agents import diligent, turns_of
from tests.probes.sending import send, target

SEED = b"an installation"
REQUEST = {"max_tokens": 512, "temperature": 0}


def exercise(scenario: str, rounds: int, kind: FaultKind | None = None) -> Exercise:
    made = task(SEED, scenario, rounds)
    return Exercise(made, None if kind is None else fault_for(made, kind, SEED))


def test_each_turn_is_a_case_and_the_answer_is_the_last() -> None:
    for made in exercises(SEED, 0):
        *calling, answering = scripted_cases(made, REQUEST)

        assert [case.oracle.trigger for case in calling] == [Trigger.MUST] * made.oracle_steps
        assert answering.oracle.trigger is Trigger.MUST_NOT
        assert {case.category for case in (*calling, answering)} == {Category.T15}
        assert len({case.key for case in (*calling, answering)}) == made.oracle_steps + 1


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("kind", [None, FaultKind.ERROR_ONCE, FaultKind.EMPTY, FaultKind.LONG_RESULT])
def test_what_a_diligent_agent_says_at_each_turn_is_right(scenario: str, kind: FaultKind | None) -> None:
    for case in scripted_cases(exercise(scenario, 8, kind), REQUEST):
        said = diligent(case.request)

        expected = [(call.name, {p: leaf.value for p, leaf in call.args.items()}) for call in case.oracle.calls]
        assert [(name, dict(leaves(json.loads(text)))) for name, text in said.calls] == expected
        content = case.oracle.content
        assert content is None or re.search(content.value, said.content or "")


def test_a_history_holds_what_the_script_called_and_what_it_brought() -> None:
    made = exercise("stores", 4, FaultKind.SWAPPED)
    turns = oracle_turns(made)

    for place, case in enumerate(scripted_cases(made, REQUEST)):
        history = turns_of(case.request)
        assert [[(name, arguments) for name, arguments, _ in turn] for turn in history] == [
            [(call.name, call.arguments) for call in turn.calls] for turn in turns[:place]
        ]
        assert [[text for *_, text in turn] for turn in history] == [
            [reply.text for reply in turn.replies] for turn in turns[:place]
        ]
        assert all(case.request[name] == value for name, value in REQUEST.items())
        assert case.request["tools"] == made.task.declarations
        told = [message["tool_call_id"] for message in case.request["messages"] if message["role"] == "tool"]
        assert (told[:2] == ["call00001", "call00000"]) is (place > 0)


def test_a_turn_that_goes_wrong_leaves_the_others_as_they_are() -> None:
    """Sent as a plain plan and scored like any case: a model that forgets how to act fails in just the acting turns."""
    cases = scripted_cases(exercise("berths", 8), REQUEST)
    items = tuple(Item(case.key, 0, {**case.request, "stream": place % 2 == 1}) for place, case in enumerate(cases))

    def forgetful(request: Request) -> Said:
        said = diligent(request)
        return said if any("boat" in text and "berth" not in text for _, text in said.calls) else Said(content="Er.")

    with ScriptedServer(ToolCaller(diligent)) as right, ScriptedServer(ToolCaller(forgetful)) as wrong:
        plan = Plan(ProbeKind.TOOL_CALLS, items, "0" * 64, "1")
        by_model = [send(target(server.base_url), plan).samples for server in (right, wrong)]

    right_turns, wrong_turns = ([score(*pair).right for pair in zip(cases, one, strict=True)] for one in by_model)
    assert right_turns == [True] * 9
    assert wrong_turns == [True, False] * 4 + [False]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_case_takes_an_answer_beside_the_right_one(scenario: str) -> None:
    made = exercise(scenario, 4)
    *calling, answering = scripted_cases(made, REQUEST)

    right = Drawn(content=f"All is done; the last is {made.task.answer[-1]}.")
    for found in (*map(lint, calling), lint(answering, right)):
        assert (found.problems, found.mutants > 0) == ((), True)


def test_equal_exercises_give_equal_cases() -> None:
    one, again = (scripted_cases(exercise("berths", 16), REQUEST, reps=2, anchor=True) for _ in range(2))

    assert one == again
    assert {(case.reps, case.anchor) for case in one} == {(2, True)}
