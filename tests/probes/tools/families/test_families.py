"""What the families ask: closed schemas, values that stand in what is said, and everything PROBES.md 5.1 lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.grammar import Draw
from probes.tools.case import Case, Category
from probes.tools.families import ambiguous
from probes.tools.families.question import Family, Question
from probes.tools.families.reasoning import TEMPLATE_SWITCH
from probes.tools.families.suite import shares
from probes.tools.matchers import compare
from probes.wire.argument_schema import ArgumentSchema
from tests.probes.tools.families.drawn import SEED, drawn

EVERY = [(share.category, family) for share in shares(TEMPLATE_SWITCH) for family in share.families]
EVERY += [(Category.T3, family) for family in ambiguous.FAMILIES]
CASES = [one.case for epoch in (0, 1) for one in drawn(epoch)]
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

draws = st.integers(0, 2**40).map(lambda number: Draw(SEED, "test", number))


def of(category: str, family: str = "") -> list[Case]:
    return [case for case in CASES if case.category == category and family in ("", case.family)]


def objects(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def check(question: Question) -> None:
    """Whatever is drawn: names that servers take, closed schemas, right arguments that pass and are what is wanted."""
    functions = {tool["function"]["name"]: tool["function"] for tool in question.request.get("tools", ())}
    assert len(functions) == len(question.request.get("tools", ()))
    for name, function in functions.items():
        assert NAME.fullmatch(name)
        assert function["description"]
        found = list(objects(function["parameters"]))
        assert found
        assert all(one["additionalProperties"] is False and "required" in one for one in found)
    if question.oracle.calls and question.oracle.most_calls is None:
        assert [call.name for call in question.answer.calls] == [call.name for call in question.oracle.calls]
    for call, expected in zip(question.answer.calls, question.oracle.calls, strict=False):
        arguments = json.loads(call.arguments)
        assert ArgumentSchema(functions[call.name]["parameters"]).accepts(arguments)
        assert compare(expected, arguments).exact


@pytest.mark.parametrize(("category", "family"), EVERY, ids=[f"{one}-{family.name}" for one, family in EVERY])
@settings(max_examples=4, deadline=None)
@given(draw=draws)
def test_every_question_of_every_family_is_sound(category: Category, family: Family, draw: Draw) -> None:
    question = family.make(draw)

    check(question)
    Case(category, family.name, question.request, question.oracle)


def test_the_values_of_an_errand_stand_in_what_the_user_says() -> None:
    for case in of("T1"):
        said = case.request["messages"][-1]["content"]
        for leaf in case.oracle.calls[0].args.values():
            if leaf.match == "exact" and not isinstance(leaf.value, bool):
                assert str(leaf.value) in said


def test_an_answer_in_the_context_is_there() -> None:
    for case in of("T2", "in-context"):
        said = case.request["messages"][-1]["content"]
        asked = said.rstrip("?").split()[-2:]
        assert re.search(rf"{' '.join(asked)}: \w+ [A-Z]{{2}}-\d{{4}}", said)


def test_look_alikes_are_two_to_four_and_lists_are_long() -> None:
    assert {
        len(case.tools) for family in ("look-alikes", "districts", "opaque-names") for case in of("T4", family)
    } <= {
        2,
        3,
        4,
    }
    assert {len(case.tools) for case in of("T4", "long-list-32")} == {32}
    assert {len(case.tools) for case in of("T4", "long-list-64")} == {64}
    late = [list(case.tools).index(case.oracle.calls[0].name) >= 48 for case in of("T4", "long-list-64")]
    assert sum(late) > len(late) / 2


def test_nested_schemas_use_every_keyword() -> None:
    text = json.dumps([case.request["tools"] for case in of("T5")])

    for keyword in ("enum", "const", "minimum", "maximum", "pattern", "oneOf", "anyOf", "minItems", "uniqueItems"):
        assert f'"{keyword}"' in text
    assert '"multipleOf"' in text
    assert '["string", "null"]' in text
    assert all(
        re.search(r'"items": \{"type": "object"|"properties": \{.*"properties"', json.dumps(case.request["tools"]))
        for case in of("T5")
    )


def right_values(category: str) -> list[Any]:
    return [leaf.value for case in of(category) for call in case.oracle.calls for leaf in call.args.values()]


def test_type_traps_are_all_there() -> None:
    values = right_values("T6")

    assert any(isinstance(value, str) and value.startswith("0") and value.isdigit() for value in values)
    assert any(isinstance(value, str) and re.fullmatch(r"\d[eE]\d+", value) for value in values)
    assert any(isinstance(value, float) and value == int(value) for value in values)
    assert any(isinstance(value, int) and not isinstance(value, bool) and value > 2**53 for value in values)
    assert {True, False} & {value for value in values if isinstance(value, bool)}
    assert {"true", "false", "null", "no", "on", "NaN", "None", "undefined"} & {str(value) for value in values}
    assert {"-0.0", "None"} <= {repr(value) for value in values}
    assert any(
        isinstance(value, str) and re.fullmatch(r"[\d-]{10}T[\d:]{8}(Z|[+-][\d:]{5})", value) for value in values
    )
    assert any(isinstance(value, str) and value.isdigit() and len(value) >= 24 for value in values)
    assert any(case.formats for case in of("T6"))


def test_no_double_holds_the_big_integers() -> None:
    big = [value for value in right_values("T6") if isinstance(value, int) and value > 2**53]

    assert big
    assert all(int(float(value)) != value for value in big)


def test_escape_traps_are_all_there() -> None:
    text = "\n".join(value for value in right_values("T7") if isinstance(value, str))

    for trap in ('"', "'", "\\", "\n", "\t", "```", '{"', "\\u0041", "e\u0301"):
        assert trap in text
    assert any(ord(letter) > 0xFFFF for letter in text)
    assert re.search("[\u0590-\u06ff]", text)
    assert re.search("[\x01-\x08\x0b\x0c\x1b\x1f\x7f\x85\u2028\ufeff]", text)
    assert "\x00" not in text
    assert "</tool_call>" in text
    assert "<|im_end|>" in text


def test_arguments_can_be_none() -> None:
    assert {call.arguments for one in drawn(0) if one.case.category == "T8" for call in one.answer.calls} == {"{}"}
    assert {bool(next(iter(case.tools.values()))["properties"]) for case in of("T8")} == {True, False}


def test_parallel_calls_are_of_one_tool_or_of_many() -> None:
    for case in of("T9"):
        kind, count = case.family.split("-")
        assert len(case.oracle.calls) == int(count)
        assert len(case.tools) == (1 if kind == "same" else int(count))
        assert len(
            {json.dumps([call.name, sorted(map(str, call.args.values()))]) for call in case.oracle.calls}
        ) == int(count)


def test_invalid_choices_must_be_refused_and_one_call_at_a_time_may_be() -> None:
    for case in of("T10", "invalid"):
        assert (case.oracle.rejected, case.oracle.answered, case.oracle.refusal_names) == (
            True,
            False,
            ("tool_choice",),
        )
    for case in of("T10", "one-at-a-time"):
        assert case.request["parallel_tool_calls"] is False
        assert (case.oracle.most_calls, case.oracle.rejected, case.oracle.answered) == (1, True, True)
    for case in of("T10", "named"):
        named = case.request["tool_choice"]["function"]["name"]
        assert case.oracle.calls[0].name == named
        assert named not in case.request["messages"][-1]["content"]


def test_copies_are_one_to_eight_kilobytes_and_no_line_is_said_twice() -> None:
    texts = {
        case.family: max(map(str, (leaf.value for leaf in case.oracle.calls[0].args.values())), key=len)
        for case in of("T11")
    }

    for family, text in texts.items():
        size = 1024 * int(family.rpartition("-")[2].rstrip("k"))
        assert 0.85 * size <= len(text.encode()) <= size
    assert len(texts) == 6


def test_a_cut_comes_long_before_the_text_ends() -> None:
    for case in of("T12"):
        assert case.oracle.cut
        assert case.oracle.finish == ("length",)
        assert 60 <= case.request["max_tokens"] <= 120
        assert len(case.request["messages"][-1]["content"]) > 1_500


def test_the_value_of_the_next_call_stands_only_in_the_history() -> None:
    for case in of("T14"):
        messages = case.request["messages"]
        told = [message for message in messages if message["role"] == "tool"]
        for call in case.oracle.calls:
            (value,) = (leaf.value for leaf in call.args.values())
            assert value in json.dumps(told)
            assert value not in json.dumps([message for message in messages if message["role"] != "tool"])


def test_histories_have_every_shape() -> None:
    shapes = {case.family: case.request["messages"] for case in of("T14")}

    def ids(family: str) -> tuple[list[str], list[str]]:
        made = [call["id"] for message in shapes[family] for call in message.get("tool_calls", ())]
        return made, [message["tool_call_id"] for message in shapes[family] if message["role"] == "tool"]

    assert isinstance(shapes["result-in-parts"][-1]["content"], list)
    made, answered = ids("swapped-results")
    assert answered == made[::-1]
    made, answered = ids("missing-result")
    assert set(answered) < set(made)
    made, answered = ids("unknown-id")
    assert not set(answered) & set(made)
    assert "error" in json.loads(shapes["error-result"][-1]["content"])
    assert any("reasoning_content" in message for case in of("T13", "replayed") for message in case.request["messages"])


def test_answers_are_held_to_schemas_with_and_without_tools() -> None:
    assert {bool(case.tools) for case in of("T16")} == {True, False}
    for one in drawn(0):
        schema = one.case.oracle.content_schema
        if schema is not None:
            assert ArgumentSchema(schema).accepts(json.loads(one.answer.content or ""))
            assert schema == one.case.request["response_format"]["json_schema"]["schema"]
