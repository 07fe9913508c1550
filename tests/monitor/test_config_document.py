"""YAML as the configuration reads it: plain data, a line for every key, and nothing that can be abused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config.document import DocumentError, parse_document
from monitor.config.problems import Problem

CANARY = "canary-5b1e0f6d"


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(DocumentError) as caught:
        parse_document(text)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value.problems


def test_it_remembers_the_line_of_every_key_and_item() -> None:
    document = parse_document("a: 1\nb:\n  - c: x\n  - d:\n      e: [1,\n        2]\n")

    assert document.data == {"a": 1, "b": [{"c": "x"}, {"d": {"e": [1, 2]}}]}
    assert document.line(("a",)) == 1
    assert document.line(("b", 1, "d", "e")) == 5
    assert document.line(("b", 1, "d", "e", 1)) == 6
    assert document.line(("b", 1, "missing")) == 4
    assert document.line(("missing",)) == 1


def test_scalars_are_what_json_can_hold() -> None:
    text = "a: 1\nb: 1.5\nc: true\nd: null\ne: ~\nf: '1'\ng: 2026-01-01\nh: yes\ni: =\nj: <<\n"

    assert parse_document(text).data == {
        "a": 1, "b": 1.5, "c": True, "d": None, "e": None, "f": "1", "g": "2026-01-01", "h": True, "i": "=", "j": "<<",
    }  # fmt: skip


def test_keys_are_text_as_it_is_written() -> None:
    assert parse_document("on: 1\n1.10: 2\n~: 3\n50256: 4\n").data == {"on": 1, "1.10": 2, "~": 3, "50256": 4}


def test_a_byte_order_mark_and_comments_are_no_content() -> None:
    assert parse_document("# nothing but a comment\n").data is None


def test_a_key_that_is_there_twice_names_both_lines() -> None:
    assert problems_of("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n") == (
        Problem(4, "b.c", "the key is there twice, first on line 3; keep one"),
        Problem(5, "a", "the key is there twice, first on line 1; keep one"),
    )


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: b: c", 1, "at column 5: mapping values are not allowed here"),
        ("a: 1\nb: 'x", 2, "found unexpected end of stream"),
        ("a:\n\t- b", 2, "indent with spaces, not with tabs"),
        ("a: [1\nb: 2", 2, "not valid YAML"),
        ("a: {api_key: ${env:X}}", 1, 'inside { } or [ ] a reference needs quotes: "${env:NAME}"'),
        ("a: 1\n---\nb: 2", 2, "another document"),
        ("a: 1\nb: \x01", 2, "control character"),
        ("a: &x 1", 1, "anchors and aliases"),
        ("a: *x", 1, "anchors and aliases"),
        ("x: 1\na: !!python/object/apply:os.system ['true']", 2, "tag"),
        ("a: !mine {b: 1}", 1, "tag"),
        ("a: !!binary aGk=", 1, "tag"),
        ("a: !!int x", 1, "neither a number"),
        ("a: !!bool x", 1, "neither a number"),
        ("a: 0b_", 1, "neither a number"),
        ("a: " + "9" * 5000, 1, "neither a number"),
        ("? [a, b]\n: 1", 1, "a key must be text"),
        ("a: " + "[" * 40 + "]" * 40, 1, "nested deeper than 32 levels"),
        ("[" * 100_000, 1, "nested deeper than 32 levels"),
    ],
)
def test_what_is_refused_names_its_line(text: str, line: int, said: str) -> None:
    (problem,) = problems_of(text)

    assert problem.line == line
    assert said in problem.message


def test_aliases_cannot_grow_a_small_file() -> None:
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 10))

    (problem,) = problems_of(f"l0: &l0 [x]\n{levels}\n")

    assert problem == Problem(1, "", "anchors and aliases (& and *) are not supported")


@pytest.mark.parametrize(
    "text",
    [
        f"api_key: {CANARY}\n  x: 1",
        f"api_key: '{CANARY}",
        f"api_key: *{CANARY}",
        f"api_key: &{CANARY} 1",
        f"api_key: !{CANARY} x",
        f"api_key: !{CANARY}!x y",
        f"api_key: !!int {CANARY}",
        f"%TAG {CANARY}\n---\na: 1",
        f"%YAML {CANARY}\n---\na: 1",
        f'api_key: "\\{CANARY}"',
        f"api_key: {{{CANARY}",
        f"? {{{CANARY}: 1}}\n: 1",
    ],
)
def test_no_problem_quotes_a_value(text: str) -> None:
    assert CANARY not in str(problems_of(text))


FRAGMENTS = st.sampled_from(
    ["a", ":", " ", "\n", "- ", "{", "}", "[", "]", "'", '"', "&a", "*a", "!t", "? ", "|", ">", "#", ",", "%"]
)


@given(st.text() | st.lists(FRAGMENTS, max_size=20).map("".join))
def test_any_text_is_a_document_or_has_problems(text: str) -> None:
    problems: tuple[Problem, ...] = ()
    data: object = None
    try:
        data = parse_document(text).data
    except DocumentError as error:
        problems = error.problems

    assert problems or data == json.loads(json.dumps(data))
