"""A running loop ends, whatever it is answered, and every request it makes can be sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.completion import Completion, ToolCall
from probes.loops.exercise import Exercise
from probes.loops.fault import FaultKind, fault_for
from probes.loops.loop import Arm, Loop, Settings
from probes.loops.result import Stop
from probes.loops.running import RunningLoop
from probes.loops.scenarios import SCENARIOS, task
from probes.plan import Item, Outcome, Sample
from probes.quirks import Disposition, Quirk

TASKS = {scenario: task(b"seed", scenario, 4) for scenario in SCENARIOS}
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def tool_calls(draw: st.DrawFn, scenario: str) -> ToolCall:
    made = TASKS[scenario]
    right = draw(st.sampled_from([call for round_ in made.script for call in round_] + [made.forbidden]))
    name = draw(st.just(right.name) | st.text(max_size=6))
    arguments = draw(st.just(right.arguments) | st.none() | st.dictionaries(st.text(max_size=6), JSON, max_size=2))
    raw = draw(st.text(max_size=6)) if arguments is None else None
    text = json.dumps(arguments) if raw is None else raw
    return ToolCall(name, draw(st.none() | st.text(max_size=4)), arguments, raw, arguments_text=text)


@st.composite
def samples(draw: st.DrawFn, scenario: str, item: Item) -> Sample:
    answer = Completion(
        disposition=draw(st.sampled_from(Disposition)),
        quirks=tuple(draw(st.sets(st.sampled_from(Quirk), max_size=1)) if draw(st.integers(0, 9)) == 0 else ()),
        http_status=draw(st.sampled_from([200, 200, 200, 200, 400, 500])),
        content=draw(st.none() | st.text(max_size=6)),
        reasoning=draw(st.none() | st.text(max_size=6)),
        tool_calls=tuple(draw(st.lists(tool_calls(scenario), max_size=4))),
        finish_reason=draw(st.sampled_from(["tool_calls", "tool_calls", "stop", None, "length", "content_filter"])),
    )
    outcome = draw(st.sampled_from([Outcome.OK] * 9 + list(Outcome)))
    completion = answer if outcome is Outcome.OK else draw(st.just(answer) | st.none())
    return Sample(item, outcome, completion, (), item.request)


@pytest.mark.parametrize("scenario", SCENARIOS)
@settings(max_examples=30, deadline=None)
@given(data=st.data(), arm=st.sampled_from(Arm), kind=st.none() | st.sampled_from(FaultKind))
def test_a_loop_ends_whatever_it_is_answered(
    data: st.DataObject, arm: Arm, kind: FaultKind | None, scenario: str
) -> None:
    fault = None if kind is None or kind is FaultKind.SWAPPED else fault_for(TASKS[scenario], kind, b"seed")
    exercise = Exercise(TASKS[scenario], fault)
    running, turns = RunningLoop(Loop(exercise, arm), Settings()), 0

    while running.stop is None:
        item = running.item
        json.dumps(item.request).encode()
        assert item.verbatim is (turns > 0)
        running.take(data.draw(samples(scenario, item)))
        turns += 1

    result = running.result
    assert turns - 1 <= result.steps <= turns <= exercise.max_steps + 1
    assert 0 <= result.recovered_errors <= result.errors
    assert result.invalid_calls <= result.errors
    assert (result.passed is None) is (result.stop is Stop.EXCLUDED) is (result.excluded is not None)


def test_a_loop_that_goes_on_has_no_result() -> None:
    with pytest.raises(ValueError, match="has not ended"):
        _ = RunningLoop(Loop(Exercise(TASKS["berths"])), Settings()).result
