from __future__ import annotations

import json

import pytest

from probes.wire.argument_text import junk_before, objects_in, runs_away, second_copy

WHOLE = '{"a": "é", "b": [1, 2]}'
VALUE = {"a": "é", "b": [1, 2]}


@pytest.mark.parametrize(
    "text",
    [
        WHOLE + WHOLE,
        WHOLE + "\n" + WHOLE + "\n",
        WHOLE + '{"b":[1,2],"a":"é"}',
        WHOLE[:-1] + WHOLE,
        WHOLE[:-2] + WHOLE,
        WHOLE[:10] + WHOLE,
    ],
)
def test_a_second_copy_is_found(text: str) -> None:
    copy = second_copy(text)
    assert copy is not None
    assert json.loads(copy) == VALUE


def test_two_empty_objects_are_copies() -> None:
    assert second_copy("{}{}") == "{}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{{",
        WHOLE[:-1],
        '{"a": {"a": 1}',
        '{"a": [{"a": [1]}',
        '{{"a": 1}',
        WHOLE + '{"a": "é", "b": [1, 3]}',
        WHOLE + WHOLE[:-1],
        WHOLE + WHOLE + WHOLE,
        "[1][1]",
    ],
)
def test_other_broken_text_holds_no_second_copy(text: str) -> None:
    assert second_copy(text) is None


@pytest.mark.parametrize("tail", ["", "{", WHOLE[:7]])
@pytest.mark.parametrize("text", [WHOLE * 3, (WHOLE + "\n") * 5, WHOLE[:-1] * 3, "json\n" + WHOLE * 3])
def test_three_copies_run_away(text: str, tail: str) -> None:
    assert runs_away(text + tail)


@pytest.mark.parametrize(
    "text", ["", WHOLE, WHOLE * 2, WHOLE * 2 + WHOLE[:-1], '{"a": 1}{"a": 2}{"a": 3}', "abcabcabc"]
)
def test_fewer_copies_do_not(text: str) -> None:
    assert not runs_away(text)


@pytest.mark.parametrize(("text", "rest"), [("json\n" + WHOLE, VALUE), ("<|x|>{", None), ("a {} b", {})])
def test_text_before_the_first_brace_is_junk(text: str, rest: object) -> None:
    junk = junk_before(text)
    assert junk is not None
    assert junk.rest == rest


@pytest.mark.parametrize("text", ["", "no brace", WHOLE[:-1], "\n " + WHOLE[:-1], '"{\\"a\\": 1', '[{"a": 1'])
def test_text_that_was_cut_has_no_junk_before_it(text: str) -> None:
    assert junk_before(text) is None


def test_objects_are_found_outermost_first() -> None:
    assert list(objects_in('x {"a": {"b": 1}} y {"c": "}{"} {"d": ')) == [{"a": {"b": 1}}, {"c": "}{"}]
