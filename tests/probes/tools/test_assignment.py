from __future__ import annotations

import itertools
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.completion import ToolCall
from probes.tools.assignment import MAX_CALLS, in_any_order, in_order, match_of
from probes.tools.case import ExpectedCall
from probes.tools.ladder import Climb, climb
from probes.tools.schemas import compiled
from tests.probes.tools.answers import exactly

TOOLS = {name: compiled({}, formats=False) for name in ("book", "cancel")}

arguments = st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.integers(0, 1)})
made = st.tuples(st.sampled_from(["book", "cancel"]), arguments)


def called(name: str, **arguments: object) -> Climb:
    return climb(ToolCall(name, arguments_text=json.dumps(arguments)), TOOLS)


def test_calls_are_found_in_any_order() -> None:
    expected = [exactly("book", a=1), exactly("book", a=2), exactly("cancel", a=1)]
    calls = [called("cancel", a=1), called("book", a=2), called("book", a=1)]
    assert in_any_order(expected, calls) == [2, 1, 0]
    assert in_order(expected, calls) == [None, 1, None]


def test_the_one_call_stands_for_the_expected_one_it_fits_best() -> None:
    expected = [exactly("book", a=1, b=1), exactly("book", a=2, b=2)]
    assert in_any_order(expected, [called("book", a=2, b=3)]) == [None, 0]
    assert in_any_order(expected, [called("cancel", a=1, b=1)]) == [None, None]
    assert in_any_order(expected, []) == [None, None]
    assert in_any_order(expected[:1], [called("cancel"), called("book"), called("book", a=1, b=1)]) == [2]


def test_a_call_that_cannot_be_read_still_stands_for_its_name() -> None:
    broken = climb(ToolCall("book", arguments_text="{"), TOOLS)
    assert in_any_order([exactly("book", a=1)], [broken]) == [0]


def test_an_answer_of_very_many_calls_is_looked_at_as_far_as_that_makes_sense() -> None:
    calls = [called("cancel")] * MAX_CALLS + [called("book", a=1)]
    assert in_any_order([exactly("book", a=1), exactly("cancel")], calls)[0] is None


@given(st.lists(made, min_size=2, max_size=4), st.lists(made, min_size=2, max_size=4))
@settings(max_examples=50)
def test_no_other_assignment_fits_better(
    wanted: list[tuple[str, dict[str, int]]], got: list[tuple[str, dict[str, int]]]
) -> None:
    expected = [exactly(name, **values) for name, values in wanted]
    calls = [called(name, **values) for name, values in got]

    def worth(places: tuple[int | None, ...]) -> float:
        matches = [
            match_of(one, calls[place]) for one, place in zip(expected, places, strict=True) if place is not None
        ]
        return sum(1.0 + match.share for match in matches if match is not None)

    slots: list[int | None] = [*range(len(calls)), *[None] * len(expected)]
    best = max(map(worth, itertools.permutations(slots, len(expected))))
    assert abs(worth(tuple(in_any_order(expected, calls))) - best) < 1e-9


@given(st.permutations([("book", 1), ("book", 1), ("book", 2), ("cancel", 1), ("cancel", 3)]))
@settings(max_examples=50)
def test_the_right_multiset_is_recognised_in_every_order(order: list[tuple[str, int]]) -> None:
    expected: list[ExpectedCall] = [
        exactly(name, a=a) for name, a in (("book", 1), ("book", 1), ("book", 2), ("cancel", 1), ("cancel", 3))
    ]
    calls = [called(name, a=a) for name, a in order]
    places = in_any_order(expected, calls)
    assert all(
        place is not None and (match := match_of(one, calls[place])) is not None and match.exact
        for one, place in zip(expected, places, strict=True)
    )
