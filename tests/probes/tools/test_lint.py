from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.tools.case import Case, Category, ExpectedCall, Leaf, Oracle, Trigger
from probes.tools.exact import same
from probes.tools.lint import lint
from probes.tools.mutants import changed_values, mutants
from probes.tools.pointers import leaves
from probes.tools.score import score
from probes.tools.sketch import Drawn, DrawnCall, right_answer, sample_of
from tests.probes.tools.answers import NOTHING, case, exactly, request, tool

BOOK = exactly("book", berth=7, vessel="Petrel")
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "colour": {"enum": ["red", "blue"]}},
    "required": ["n", "colour"],
    "additionalProperties": False,
}
LINES = {
    "type": "object",
    "properties": {"lines": {"type": "array", "minItems": 1, "items": SCHEMA}},
    "required": ["lines"],
    "additionalProperties": False,
}
NAMED = {"tool_choice": {"type": "function", "function": {"name": "book"}}}

GOOD = {
    "T1": case(BOOK, finish=("tool_calls",)),
    "T2": case(trigger=Trigger.MUST_NOT, category=Category.T2, finish=("stop",)),
    "T3": case(BOOK, trigger=Trigger.CALIBRATED, category=Category.T3),
    "T5": case(
        ExpectedCall("order", {"/lines/0/n": Leaf("exact", 2), "/lines/0/colour": Leaf("exact", "red")}),
        category=Category.T5,
        tools=[tool("order", LINES)],
    ),
    "T6": case(
        ExpectedCall("set", {"/id": Leaf("exact", "007"), "/n": Leaf("number", 2**53 + 1), "/x": Leaf("exact", -0.0)}),
        category=Category.T6,
        tools=[tool("set", {"type": "object"})],
    ),
    "T7": case(exactly("book", berth=1, vessel='</tool_call>"\\\n\t😀\u202e§'), category=Category.T7),
    "T8": case(exactly("list"), category=Category.T8, tools=[tool("list", NOTHING)]),
    "T9": case(BOOK, exactly("book", berth=8, vessel="Fulmar"), exactly("list"), category=Category.T9),
    "T9 ordered": case(BOOK, exactly("list"), category=Category.T9, ordered=True),
    "T10 none": case(trigger=Trigger.MUST_NOT, category=Category.T10, settings={"tool_choice": "none"}),
    "T10 required": case(category=Category.T10, settings={"tool_choice": "required"}),
    "T10 named": case(ExpectedCall("book", {}, open=True), category=Category.T10, settings=NAMED),
    "T10 one": case(BOOK, exactly("list"), category=Category.T10, most_calls=1),
    "T10 invalid": case(
        trigger=Trigger.FREE,
        category=Category.T10,
        settings={"tool_choice": "perhaps"},
        rejected=True,
        answered=False,
        refusal_names=("tool_choice",),
    ),
    "T12": case(BOOK, category=Category.T12, cut=True, finish=("length",)),
    "T13": case(BOOK, category=Category.T13, reasoning="present"),
    "T13 off": case(BOOK, category=Category.T13, reasoning="absent"),
    "T14": case(trigger=Trigger.FREE, category=Category.T14, rejected=True, content=Leaf("any_of", ["A-1", "A-2"])),
    "T16": case(trigger=Trigger.MUST_NOT, category=Category.T16, tools=(), content_schema=SCHEMA),
    "matchers": case(
        ExpectedCall(
            "set",
            {
                "/a": Leaf("ci", "Cape Wrath"),
                "/b": Leaf("date", "2026-05-01"),
                "/c": Leaf("set", ["x", "y"]),
                "/d": Leaf("any_of", ["x", None]),
                "/e": Leaf("absent_ok", True),
                "/f/g": Leaf("absent_ok", 1),
                "/h/0": Leaf("number", 0.5, 0.1),
                "/h/1": Leaf("exact", {"deep": [None]}),
            },
        ),
        tools=[tool("set", {"type": "object"})],
    ),
    "regex": case(
        ExpectedCall("book", {"/vessel": Leaf("regex", "^P")}, open=True, example={"berth": 1, "vessel": "Petrel"})
    ),
}


@pytest.mark.parametrize("good", GOOD.values(), ids=GOOD.keys())
def test_a_good_case_has_no_problems(good: Case) -> None:
    found = lint(good)
    assert found.problems == ()
    assert found.mutants > 0


@pytest.mark.parametrize("good", GOOD.values(), ids=GOOD.keys())
def test_the_right_answer_is_accepted_and_every_mutant_rejected(good: Case) -> None:
    right = right_answer(good)
    assert score(good, sample_of(good, right)).right
    for mutant in mutants(good, right):
        assert score(good, sample_of(good, mutant.sketch)).right is False, mutant.change


def open_schema(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"n": {"type": "integer"}}, **more}


def of_t5(parameters: dict[str, Any], **arguments: Any) -> Case:
    return case(exactly("order", **arguments), category=Category.T5, tools=[tool("order", parameters)])


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (of_t5(open_schema(), n=1), "the schema rejects no value with a missing key"),
        (of_t5(open_schema(required=["n"]), n=1), "rejects no value with a key too many"),
        (of_t5({"type": "object", "required": ["n"], "additionalProperties": False, "properties": {"n": True}}, n=1),
         "rejects no value with another type"),
        (case(tools=[tool("book", {"type": "whole"})]), "tool book: the schema is invalid"),
        (case(tools=[tool("book", {"properties": {"n": {"$ref": "https://schemas.invalid/n"}}})]), "leads out"),
        (case(tools=[tool("book", {"properties": {"n": {"pattern": "^(a+)+$"}}})]), "a pattern can take for ever"),
        (case(tools=[tool("book", {"properties": {"n": {"format": "hostname"}}})], formats=True), "not checked"),
        (case(ExpectedCall("book", {"/vessel": Leaf("regex", "(")})), "/vessel: a regex that does not compile"),
        (case(ExpectedCall("book", {"/vessel": Leaf("regex", "^(a|b)*$")})), "/vessel: a regex that can take for ever"),
        (case(ExpectedCall("book", {"/vessel": Leaf("regex", "^P")}, open=True)), "give an example"),
        (case(ExpectedCall("book", {"/vessel": Leaf("regex", ".")}, open=True, example={"berth": 1, "vessel": "P"})),
         "accepted: call 0: value /vessel"),
        (case(exactly("book", berth="7", vessel="Petrel")), "made from its oracle is not accepted (call_broken)"),
        (case(exactly("book", berth=7)), "made from its oracle is not accepted (call_broken)"),
        (case(trigger=Trigger.FREE, content=Leaf("regex", "")), "give an example"),
        (case(trigger=Trigger.MUST_NOT, tools=(), content_schema={}), "content: the schema rejects no value with"),
        (case(ExpectedCall("book", {"/a": Leaf("exact", 1), "/a/b": Leaf("exact", 1)})), "do not make one value"),
        (case(ExpectedCall("book", {"/a/0": Leaf("exact", 1), "/a/2": Leaf("exact", 1)})), "do not make one value"),
        (case(ExpectedCall("book", {"/a/0": Leaf("exact", 1), "/a/b": Leaf("exact", 1)})), "do not make one value"),
    ],
)  # fmt: skip
def test_a_case_that_tells_too_little_is_refused_with_the_reason(bad: Case, problem: str) -> None:
    problems = lint(bad).problems
    assert any(problem in found for found in problems), problems


def test_an_answer_that_is_not_right_is_no_right_answer() -> None:
    wrong = Drawn((DrawnCall("book", '{"berth": 8, "vessel": "Petrel"}'),), finish="tool_calls")
    assert lint(GOOD["T1"], wrong).problems == ("no right answer is known: its own is not accepted (values)",)


def test_a_right_answer_can_be_handed_in() -> None:
    loose = case(ExpectedCall("book", {"/vessel": Leaf("regex", "^P"), "/berth": Leaf("number", 7, 1)}))
    right = Drawn((DrawnCall("book", '{"vessel": "Puffin", "berth": 8}'),), finish="tool_calls")
    assert lint(loose).problems != ()
    assert lint(loose, right).problems == ()


def test_the_calls_of_a_right_answer_may_come_in_any_order() -> None:
    both = case(BOOK, exactly("list"), category=Category.T9)
    turned = Drawn(
        (DrawnCall("list", "{}"), DrawnCall("book", '{"vessel": "Petrel", "berth": 7}')), finish="tool_calls"
    )
    assert lint(both, turned).problems == ()


def test_a_problem_quotes_no_value() -> None:
    bad = case(exactly("book", berth="canary-item-000000", vessel="canary-item-000001"))
    assert "canary" not in " ".join(lint(bad).problems)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(st.text(max_size=4), json_values, max_size=3)


@given(arguments)
@settings(max_examples=50)
def test_a_changed_value_is_another_value(value: dict[str, Any]) -> None:
    for changed in changed_values(value):
        assert not same(changed.value, value)


@given(arguments)
@settings(max_examples=50)
def test_a_call_of_exact_leaves_rejects_every_mutant(value: dict[str, Any]) -> None:
    expected = ExpectedCall("set", {pointer: Leaf("exact", leaf) for pointer, leaf in leaves(value)}, example=value)
    exact = Case(Category.T6, "any", request([tool("set", {})]), Oracle(Trigger.MUST, (expected,)))
    assert lint(exact).problems == ()


def test_an_enum_that_the_right_answer_does_not_use_is_not_tested() -> None:
    assert lint(case(BOOK, category=Category.T5)).problems == (
        "tool book: the schema rejects no value with a value outside of enum or const",
    )
