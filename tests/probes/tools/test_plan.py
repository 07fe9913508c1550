"""The order and the bodies of a run: repeats spread, twins a quarter, replays a twentieth, nothing sent twice else."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.plan import Item, ProbeKind
from probes.tools.case import Case
from probes.tools.plan import SHARES, ItemId, ToolPlan, plain_plan, plan, share, with_room
from tests.probes.tools.families.drawn import SEED, drawn

CASES = [one.case for one in drawn(0)]
NEXT = [one.case for one in drawn(1)]


@cache
def planned(nonce: bytes = b"run") -> ToolPlan:
    return plan(CASES, seed=SEED, run_nonce=nonce)


def body(item: Item) -> str:
    return json.dumps(item.request, sort_keys=True)


def originals(made: ToolPlan) -> list[Item]:
    return [item for item in made.plan.items if ItemId(item.key, item.rep) not in made.replays]


def mode(item: Item) -> str:
    return "stream" if item.request["stream"] else "plain"


def modes(made: ToolPlan) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for item in originals(made):
        found.setdefault(made.cases[item.key].key, set()).add(mode(item))
    return found


def test_every_case_is_asked_as_often_as_it_says_in_each_of_its_modes() -> None:
    asked = Counter((planned().cases[item.key].key, mode(item)) for item in originals(planned()))

    for case in CASES:
        for way in modes(planned())[case.key]:
            assert asked[case.key, way] == case.reps
    reps = [(item.key, item.rep) for item in planned().plan.items]
    assert len(set(reps)) == len(reps)
    assert planned().plan.probe is ProbeKind.TOOL_CALLS


def test_a_quarter_of_the_cases_of_each_category_has_a_twin_and_the_rest_is_split_evenly() -> None:
    both = {key for key, ways in modes(planned()).items() if len(ways) == 2}
    alone = Counter(next(iter(ways)) for ways in modes(planned()).values() if len(ways) == 1)

    assert both == planned().twins
    assert len(both) == -(-len(CASES) // 4)
    for category, n in Counter(case.category for case in CASES).items():
        twins = sum(case.key in both for case in CASES if case.category == category)
        assert abs(twins - n / 4) < 1
    assert abs(alone["stream"] - alone["plain"]) < 50


def test_twins_stand_side_by_side() -> None:
    places = {(item.key, item.rep): place for place, item in enumerate(originals(planned()))}

    for key in planned().twins:
        for rep in range(3):
            assert abs(places[f"{key}-stream", rep] - places[f"{key}-plain", rep]) == 1


def test_an_anchor_keeps_its_mode() -> None:
    later = plan(NEXT, seed=SEED, run_nonce=b"another")
    here, there = modes(planned()), modes(later)
    anchors = [case.key for case in CASES if case.anchor]

    assert len(anchors) == 51
    assert all(here[key] & there[key] for key in anchors)
    assert all(item.anchor == planned().cases[item.key].anchor for item in planned().plan.items)


def test_a_twentieth_of_the_requests_are_replays_of_greedy_ones_sent_later() -> None:
    items = planned().plan.items
    places = {ItemId(item.key, item.rep): place for place, item in enumerate(items)}

    assert abs(len(planned().replays) / len(items) - 0.05) < 0.001
    for again, first in planned().replays.items():
        assert body(items[places[again]]) == body(items[places[first]])
        assert items[places[again]].request["temperature"] == 0
        assert places[again] - places[first] >= 24
        assert planned().cases[again.key] == planned().cases[first.key]


def test_no_other_two_bodies_are_equal_nor_are_those_of_two_runs() -> None:
    bodies = [body(item) for run in (b"run", b"other") for item in originals(planned(run))]

    assert len(set(bodies)) == len(bodies)


def test_the_same_run_is_planned_the_same() -> None:
    assert plan(CASES, seed=SEED, run_nonce=b"run") == planned()
    assert [item.key for item in planned(b"other").plan.items] != [item.key for item in planned().plan.items]
    assert planned(b"other").plan.suite_sha256 == planned().plan.suite_sha256
    assert plan(NEXT, seed=SEED, run_nonce=b"run").plan.suite_sha256 != planned().plan.suite_sha256


def test_a_run_that_stops_early_has_asked_every_case_alike() -> None:
    half = originals(planned())[: len(originals(planned())) // 2]
    asked = Counter(item.key for item in half)

    for key, case in planned().cases.items():
        if not key.endswith("-replay"):
            assert abs(asked[key] - case.reps / 2) <= 1


def test_streams_ask_for_usage_and_a_case_that_may_be_refused_goes_out_as_it_stands() -> None:
    for item in planned().plan.items:
        assert item.request.get("stream_options") == ({"include_usage": True} if item.request["stream"] else None)
        assert item.verbatim is planned().cases[item.key].oracle.rejected
    assert any(item.verbatim for item in planned().plan.items)


def test_nothing_of_a_case_but_one_message_is_touched() -> None:
    for item in planned().plan.items:
        asked: Any = planned().cases[item.key].request
        assert {
            key: value for key, value in item.request.items() if key not in ("messages", "stream", "stream_options")
        } == {key: value for key, value in asked.items() if key != "messages"}
        changed = [pair for pair in zip(item.request["messages"], asked["messages"], strict=True) if pair[0] != pair[1]]
        assert len(changed) == 1
        assert changed[0][1]["content"] in changed[0][0]["content"]


@settings(max_examples=10, deadline=None)
@given(st.integers(-9, 10**6), st.sampled_from([CASES, NEXT, CASES[:7], CASES[:1], []]))
def test_eight_turns_ask_each_case_once(first: int, cases: list[Case]) -> None:
    turns = [share(cases, first + turn, seed=SEED) for turn in range(SHARES)]

    assert Counter(case.key for turn in turns for case in turn) == Counter(case.key for case in cases)
    assert max(map(len, turns)) - min(map(len, turns)) <= 1


def test_every_turn_has_a_fair_share_of_each_category() -> None:
    for turn in range(SHARES):
        taken = Counter(case.category for case in share(CASES, turn, seed=SEED))
        for category, n in Counter(case.category for case in CASES).items():
            assert abs(taken[category] - n / SHARES) < 1
        size = len(plan(share(CASES, turn, seed=SEED), seed=SEED, run_nonce=b"light").plan.items)
        assert 190 <= size <= 260


def test_a_plan_of_nothing_and_of_one_case_can_be_made() -> None:
    assert plan([], seed=SEED, run_nonce=b"run").plan.items == ()
    assert len(originals(plan(CASES[:1], seed=SEED, run_nonce=b"run"))) == 10


def test_a_plain_plan_has_neither_twins_nor_replays() -> None:
    made = plain_plan(CASES, seed=SEED, run_nonce=b"run")

    assert (made.twins, made.replays) == (frozenset(), {})
    assert len(made.plan.items) == sum(case.reps for case in CASES)


def test_less_room_is_room_for_every_answer_but_those_of_cases_that_set_it_or_send_none() -> None:
    short = with_room(CASES, 96)

    for before, after in zip(CASES, short, strict=True):
        own = before.request.get("max_tokens")
        kept = own is None or before.oracle.cut
        assert after.request.get("max_tokens") == (own if kept else 96)
        assert (after.key == before.key) is kept
        assert (after.anchor, after.reps, after.oracle) == (before.anchor, before.reps, before.oracle)
    assert any(case.oracle.cut for case in CASES)
    assert with_room(short, 96) == with_room(short, 2048) == short
