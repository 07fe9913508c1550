from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from probes.tools.canonical import canonical_json
from probes.tools.case import Case, Category, ExpectedCall, Leaf, Oracle, Trigger
from tests.probes.tools.answers import BERTH, case, exactly, request, tool

BOOK = case(exactly("book", berth=7, vessel="Petrel"))


def test_the_key_is_the_hash_of_what_is_asked_and_what_is_right() -> None:
    assert len(BOOK.key) == 64
    assert replace(BOOK).key == BOOK.key
    assert replace(BOOK, anchor=True, reps=8, tags=("weekly",)).key == BOOK.key


@pytest.mark.parametrize(
    "change",
    [
        {"category": Category.T6},
        {"family": "moorings"},
        {"request": request([tool("book")], temperature=0)},
        {"oracle": Oracle(Trigger.MUST, (exactly("book", berth=7.0, vessel="Petrel"),))},
        {"oracle": Oracle(Trigger.MUST, (exactly("book", berth=7, vessel="Petrel"),), ordered=True)},
        {"formats": True},
    ],
)
def test_another_content_has_another_key(change: dict[str, Any]) -> None:
    assert replace(BOOK, **change).key != BOOK.key


def test_the_order_of_keys_is_no_content() -> None:
    asked = dict(reversed(list(BOOK.request.items())))
    assert replace(BOOK, request=asked).key == BOOK.key


def test_a_case_knows_its_tools() -> None:
    assert list(BOOK.tools) == ["book", "cancel", "list"]
    assert BOOK.tools["book"] == BERTH
    assert case(trigger=Trigger.FREE, tools=()).tools == {}


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Leaf("close", 2), "one of exact, ci"),  # type: ignore[arg-type]
        (lambda: Leaf("ci", 2), "compares with a string"),
        (lambda: Leaf("any_of", "ab"), "compares with a list"),
        (lambda: Leaf("number", True), "compares with a number"),
        (lambda: Leaf("number", 2, -1.0), "not below 0"),
        (lambda: Leaf("number", 2, float("nan")), "not below 0"),
        (lambda: ExpectedCall("", {}), "has a name"),
        (lambda: ExpectedCall("book", {"berth": Leaf("exact", 7)}), "by a JSON pointer"),
        (lambda: Oracle(Trigger.MUST_NOT, (exactly("book"),)), "no expected calls"),
        (lambda: Oracle(Trigger.MUST, most_calls=0), "at least 1"),
        (lambda: Oracle(Trigger.FREE, refusal_names=("n",)), "set rejected"),
        (lambda: Oracle(Trigger.FREE, answered=False), "an answer or a refusal"),
        (lambda: Oracle(Trigger.MUST, cut=True, finish=("stop",)), "finishes with length"),
        (lambda: Oracle(Trigger.MUST, reasoning="some"), "present, absent or None"),  # type: ignore[arg-type]
        (lambda: case(exactly("sink")), "a tool that the request does not declare"),
        (lambda: case(tools=[tool("book"), tool("book")]), "same name"),
        (lambda: case(tools=[{"type": "function"}]), "each tool is"),
        (lambda: case(settings={"stream": True}), "does not set 'stream'"),
        (lambda: case(settings={"model": "m"}), "does not set 'model'"),
        (lambda: case(settings={"messages": []}), "has messages"),
        (lambda: case(settings={"messages": [{"content": "x"}]}), "a role"),
        (lambda: case(settings={"temperature": float("inf")}), "/request/temperature is inf"),
        (lambda: case(settings={"stop": {1, 2}}), "/request/stop is a set"),
        (lambda: replace(BOOK, family=""), "belongs to a family"),
        (lambda: replace(BOOK, reps=0), "at least once"),
    ],
)
def test_what_cannot_be_a_case_is_refused_with_the_reason(make: Callable[[], Case | Leaf], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make()


def test_canonical_json_is_sorted_and_plain() -> None:
    assert canonical_json({"b": (1, 2.0), "a": "é\n"}) == '{"a":"é\\n","b":[1,2.0]}'
