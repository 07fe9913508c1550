"""The simulated worlds: solvable from what is shown, deterministic, and not to be broken by any call."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from probes.loops.exercise import Exercise, Place, oracle_turns, play
from probes.loops.fault import LONG_RESULT_BYTES, FaultKind, fault_for
from probes.loops.history import canonical_ids, results, scripted
from probes.loops.scenarios import ROUNDS, SCENARIOS, task
from probes.loops.scenarios.berths import Harbour
from probes.loops.scenarios.stores import Stock
from probes.loops.scenarios.tickets import Desk
from probes.loops.task import Task
from probes.loops.world import Call, ErrorCode, Refusal, step
from probes.wire.json_value import strings_in
from tests.probes.loops.agents import diligent

SEEDS = st.binary(min_size=1, max_size=8)
PLACES = list(product(SCENARIOS, ROUNDS))
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def exercise(seed: bytes, scenario: str, rounds: int, kind: FaultKind | None = None) -> Exercise:
    made = task(seed, scenario, rounds)
    return Exercise(made, None if kind is None else fault_for(made, kind, seed))


def check_state(start: Any, state: Any) -> None:
    """What holds of a state whatever was called."""
    if isinstance(state, Harbour):
        berths = [booking.berth for booking in state.bookings.values()]
        assert len(berths) == len(set(berths))
        assert set(berths) <= state.berths.keys()
        for boat in state.queue:
            booking = state.bookings.get(boat.code)
            assert booking is None or (state.berths[booking.berth] >= boat.length_m and booking.boat == boat.name)
        assert (state.berths, state.queue) == (start.berths, start.queue)
    elif isinstance(state, Stock):
        assert all(count >= 0 for count in state.counts.values())
        for line in state.lines:
            held, had = (
                sum(count for (_, item), count in one.counts.items() if item == line.item) for one in (state, start)
            )
            assert held + state.scrapped.get(line.item, 0) == had
    else:
        assert isinstance(state, Desk)
        assert state.queue == start.queue
        assert state.routes.keys() | state.closed <= {ticket.number for ticket in state.queue}


@pytest.mark.parametrize(("scenario", "rounds"), PLACES)
@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_the_script_reaches_the_goal_in_as_many_rounds_as_were_asked_for(
    seed: bytes, scenario: str, rounds: int
) -> None:
    made = exercise(seed, scenario, rounds)
    state = made.task.start

    for call in (call for round_ in made.task.script for call in round_):
        state, result = (done := step(made.task.tools, state, call)).state, done.result
        assert not isinstance(result, Refusal)

    assert state == made.task.goal != made.task.start
    assert (len(made.task.script), made.max_steps) == (rounds, 2 * rounds + 2)


@pytest.mark.parametrize("kind", [None, *FaultKind])
@pytest.mark.parametrize("scenario", SCENARIOS)
@settings(max_examples=5, deadline=None)
@given(seed=SEEDS, rounds=st.sampled_from(ROUNDS))
def test_who_knows_only_what_is_told_and_shown_gets_there_on_the_shortest_way(
    seed: bytes, rounds: int, scenario: str, kind: FaultKind | None
) -> None:
    if kind is FaultKind.SWAPPED and scenario != "stores":
        return
    made = exercise(seed, scenario, rounds, kind)
    place, steps, called = Place(made.task.start), 0, 0
    messages: list[Mapping[str, Any]] = [*made.task.messages]
    request = {"messages": messages, "tools": made.task.declarations}

    while (said := diligent(request)).calls:
        calls = [Call(name, json.loads(text)) for name, text in said.calls]
        place, turn = play(made, place, calls)
        ids = canonical_ids(called, len(calls))
        messages += [scripted(turn, ids), *results(turn, ids)]
        steps, called = steps + 1, called + len(calls)

    assert place.state == made.task.goal
    assert place.struck is (kind is not None)
    assert steps == made.oracle_steps == len(oracle_turns(made))
    assert all(code in (said.content or "") for code in made.task.answer)


def test_each_look_up_names_what_only_the_round_before_has_shown() -> None:
    for scenario, rounds in PLACES:
        made = exercise(b"seed", scenario, rounds)
        shown = json.dumps(made.task.messages)
        for place, turn in enumerate(oracle_turns(made)):
            before, shown = shown, shown + "".join(reply.text for reply in turn.replies)
            if place % 2 and place + 1 < rounds:
                (coming, *_) = made.task.script[place + 1]
                named = [text for text in strings_in(dict(coming.arguments or {})) if text not in before]
                assert named
                assert all(text in shown for text in named)


def calls_for(made: Task) -> st.SearchStrategy[Call]:
    """Calls with values of the task in all the wrong places, among them right ones, and plain junk."""
    right = [call for round_ in made.script for call in round_] + [made.forbidden]
    values = [value for call in right for value in (call.arguments or {}).values()]
    names = st.sampled_from([*(tool.name for tool in made.tools), "nothing"])
    properties = sorted({name for tool in made.tools for name in tool.parameters["properties"]})
    mixed = st.dictionaries(st.sampled_from(properties), st.sampled_from(values) | JUNK, max_size=4)
    nearly = st.builds(
        lambda call, name, value: Call(call.name, {**call.arguments, name: value}),
        st.sampled_from(right),
        st.sampled_from(properties),
        st.sampled_from(values),
    )
    return st.sampled_from(right) | nearly | st.builds(Call, names, st.none() | mixed | st.just({}))


@pytest.mark.parametrize("scenario", SCENARIOS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), kind=st.none() | st.sampled_from(FaultKind))
def test_no_call_raises_or_corrupts_a_state(data: st.DataObject, scenario: str, kind: FaultKind | None) -> None:
    made = exercise(b"seed", scenario, 8, None if scenario != "stores" and kind is FaultKind.SWAPPED else kind)
    start, place = copy.deepcopy(made.task.start), Place(made.task.start)

    for calls in data.draw(st.lists(st.lists(calls_for(made.task), max_size=3), max_size=12)):
        before = copy.deepcopy(place)
        after, turn = play(made, place, calls)
        again, _ = play(made, place, calls)

        assert place == before
        assert again == after
        if all(reply.error for reply in turn.replies):
            assert after.state == before.state
        check_state(start, after.state)
        place = after

    assert made.task.start == start


@pytest.mark.parametrize(("scenario", "rounds"), PLACES)
def test_equal_seeds_give_equal_tasks_and_others_other_words(scenario: str, rounds: int) -> None:
    one, again = task(b"a", scenario, rounds), task(b"a", scenario, rounds)
    other, next_week = task(b"b", scenario, rounds), task(b"a", scenario, rounds, instance="2026-W49")

    assert (one.messages, one.script, one.start, one.goal) == (again.messages, again.script, again.start, again.goal)
    assert one.key == again.key
    assert len({one.key, other.key, next_week.key}) == 3
    assert set(one.answer).isdisjoint({*other.answer, *next_week.answer})


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_schema_is_valid_and_closed(scenario: str) -> None:
    def objects(schema: object) -> list[Mapping[str, Any]]:
        if isinstance(schema, list):
            return [found for one in schema for found in objects(one)]
        if not isinstance(schema, dict):
            return []
        inner = [found for one in schema.values() for found in objects(one)]
        return [schema, *inner] if schema.get("type") == "object" else inner

    for tool in task(b"seed", scenario, 2).tools:
        Draft202012Validator.check_schema(tool.parameters)
        assert all(
            schema["additionalProperties"] is False and set(schema["required"]) == set(schema["properties"])
            for schema in objects(tool.parameters)
        )


@pytest.mark.parametrize(("scenario", "rounds"), PLACES)
def test_the_forbidden_call_can_be_made_and_leads_away_from_the_goal(scenario: str, rounds: int) -> None:
    made = task(b"seed", scenario, rounds)

    for state in (made.start, made.goal):
        done = step(made.tools, state, made.forbidden)
        assert not isinstance(done.result, Refusal)
        assert done.state != state


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_cannot_be_done_is_refused_with_a_type(scenario: str) -> None:
    made = task(b"seed", scenario, 4)
    (look, *_), (act, *_), _, (later, *_) = made.script
    unknown = {name: "nobody" if isinstance(value, str) else value for name, value in (look.arguments or {}).items()}
    if scenario == "stores":
        unknown["store"] = (look.arguments or {})["store"]

    def error(call: Call, state: Any = made.start) -> ErrorCode:
        result = step(made.tools, state, call).result
        assert isinstance(result, Refusal)
        return result.code

    assert error(Call("open_sesame", {})) is ErrorCode.UNKNOWN_TOOL
    assert error(Call(look.name, None)) is ErrorCode.INVALID_ARGUMENTS
    assert error(Call(look.name, {**(look.arguments or {}), "please": True})) is ErrorCode.INVALID_ARGUMENTS
    assert error(Call(look.name, unknown)) is ErrorCode.NOT_FOUND
    assert error(later) is ErrorCode.NOT_ALLOWED
    changed = {"nights": 1000 % 365, "quantity": 1, "tags": ["billing", "login"]}
    other = {name: changed.get(name, value) for name, value in (act.arguments or {}).items()}
    assert error(Call(act.name, other), made.goal) is ErrorCode.CONFLICT


def test_a_store_gives_no_more_than_it_holds_and_nothing_to_itself() -> None:
    made = task(b"seed", "stores", 2)
    (move,) = made.script[1]
    moved, scrapped = dict(move.arguments or {}), dict(made.forbidden.arguments or {})
    source, item = moved["from_store"], moved["item"]
    held = made.start.counts[source, item]

    def error(name: str, arguments: Mapping[str, Any]) -> ErrorCode | None:
        result = step(made.tools, made.start, Call(name, arguments)).result
        return result.code if isinstance(result, Refusal) else None

    assert error(move.name, {**moved, "quantity": held}) is None
    assert error(move.name, {**moved, "quantity": held + 1}) is ErrorCode.NOT_ALLOWED
    assert error(move.name, {**moved, "to_store": source}) is ErrorCode.NOT_ALLOWED
    assert error(made.forbidden.name, {**scrapped, "store": source, "quantity": held}) is None
    assert error(made.forbidden.name, {**scrapped, "store": source, "quantity": held + 1}) is ErrorCode.NOT_ALLOWED


def test_a_boat_gets_no_berth_that_is_taken_too_short_or_not_there() -> None:
    made = task(b"seed", "berths", 2)
    (booked,) = made.script[1]
    (taken,) = [booking.berth for booking in made.start.bookings.values()]
    short = min(made.start.berths, key=made.start.berths.__getitem__)

    def error(berth: str) -> ErrorCode:
        result = step(made.tools, made.start, Call(booked.name, {**(booked.arguments or {}), "berth": berth})).result
        assert isinstance(result, Refusal)
        return result.code

    assert [error(berth) for berth in (taken, short, "nowhere")] == [
        ErrorCode.CONFLICT,
        ErrorCode.NOT_ALLOWED,
        ErrorCode.NOT_FOUND,
    ]


def test_a_fault_adds_what_it_is_for() -> None:
    for kind in (FaultKind.LONG_RESULT, FaultKind.INSTRUCTION):
        made = exercise(b"seed", "tickets", 8, kind)
        struck = [reply.text for turn in oracle_turns(made) for reply in turn.replies if len(reply.text) > 300] or [
            reply.text for turn in oracle_turns(made) for reply in turn.replies if "note" in reply.text
        ]
        assert len(struck) == 1
        assert made.fault is not None
        assert made.fault.text in json.loads(struck[0]).values()
    assert len(exercise(b"seed", "tickets", 8, FaultKind.LONG_RESULT).fault.text.encode()) >= LONG_RESULT_BYTES  # type: ignore[union-attr]


def test_results_are_swapped_only_where_calls_are_parallel() -> None:
    made = exercise(b"seed", "stores", 4, FaultKind.SWAPPED)
    first, *others = oracle_turns(made)

    assert first.swapped
    assert not any(turn.swapped for turn in others)
    assert [message["tool_call_id"] for message in results(first, ["a", "b"])] == ["b", "a"]
    with pytest.raises(ValueError, match="no parallel calls"):
        exercise(b"seed", "berths", 4, FaultKind.SWAPPED)
