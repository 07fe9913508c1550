"""Finds items that prove nothing: they cannot fail, cannot pass, say what is said already, or give themselves away."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from probes.evals.choice_grader import letters_of
from probes.evals.grade import Grade, Reason, Verdict
from probes.evals.grading import TEXT_GRADERS
from probes.evals.item import EvalItem, GraderKind
from probes.evals.text_graders import expected_texts
from probes.evals.tool_case import tool_case
from probes.tools.canonical import canonical_json
from probes.tools.case import Trigger
from probes.wire.argument_schema import ArgumentSchema
from probes.wire.json_value import as_object, as_objects, strings_in


class Flaw(StrEnum):
    """What can be wrong with an item; `Problem.error` says which of these make it worthless."""

    MISSING_EXPECTED = "missing_expected"
    CANNOT_FAIL = "cannot_fail"
    CANNOT_PASS = "cannot_pass"  # noqa: S105 - no password
    INVALID_GRADER = "invalid_grader"
    """The pattern, schema, tests or expected calls are not valid ones, or not safe to try."""
    CANARY = "canary"
    """What is sent holds a canary, the suite's own or a public one: whoever is asked sees what he is asked from."""
    DUPLICATE_PROMPT = "duplicate_prompt"
    OPEN_SCHEMA = "open_schema"
    """A schema without `required`, or without `additionalProperties: false`, accepts almost any object."""
    UNGRADED = "ungraded"


WARNINGS = frozenset({Flaw.DUPLICATE_PROMPT, Flaw.OPEN_SCHEMA, Flaw.UNGRADED})

# https://github.com/google/BIG-bench/blob/main/docs/doc.md, and what others made of it.
_PUBLIC_CANARY = re.compile(r"canary guid|should never appear in training", re.IGNORECASE)
_JUNK_TEXTS = ("", "0", "1", "-987654321.5", "A", "qzx", "No.", "the qzx of xyzzy", "щука", "{}", "\U0001f980 \n 7")
_JUNK_VALUES = ("null", "true", "0", "-1.5", '"qzx"', "[]", "{}", '{"qzx": 1}', '[{"qzx": null}]')
_STRANGE = {"qzx-xyzzy": [1]}


@dataclass(frozen=True, slots=True)
class Problem:
    """`place` is the item's line or number. `first` is where the prompt was seen first, for a duplicate."""

    place: int
    sha256: str
    flaw: Flaw
    first: int | None = None

    @property
    def error(self) -> bool:
        return self.flaw not in WARNINGS


def lint(items: Iterable[tuple[int, EvalItem]], canary: str | None = None) -> Iterator[Problem]:
    """Every problem of every item, in their order."""
    prompts: dict[bytes, int] = {}
    for place, item in items:
        for flaw in flaws_of(item, canary):
            yield Problem(place, item.sha256, flaw)
        first = prompts.setdefault(bytes.fromhex(item.prompt_sha256), place)
        if first != place:
            yield Problem(place, item.sha256, Flaw.DUPLICATE_PROMPT, first)


def flaws_of(item: EvalItem, canary: str | None = None) -> list[Flaw]:
    """What is wrong with one item by itself. No code is run for it."""
    found = _FLAWS[item.grader.kind](item)
    if any(_is_open(schema) for schema in _schemas(item)):
        found.append(Flaw.OPEN_SCHEMA)
    if any(_PUBLIC_CANARY.search(text) or (canary and canary in text) for text in strings_in(dict(item.request))):
        found.append(Flaw.CANARY)
    return found


def _text_flaws(item: EvalItem) -> list[Flaw]:
    """Grade junk, which must not all be right, and what is expected, which must be."""
    junk = [_graded(item, text) for text in _JUNK_TEXTS]
    if junk[0].reason is Reason.NO_EXPECTED:
        return [Flaw.MISSING_EXPECTED]
    if any(grade.reason in (Reason.INVALID_PATTERN, Reason.UNSAFE_PATTERN) for grade in junk):
        return [Flaw.INVALID_GRADER]
    # What must be absent is hardly ever in junk.
    fails = item.grader.options.get("absent") is True or any(grade.verdict is Verdict.WRONG for grade in junk)
    return [*([] if fails else [Flaw.CANNOT_FAIL]), *([] if _passes(item) else [Flaw.CANNOT_PASS])]


def _passes(item: EvalItem) -> bool:
    if item.grader.kind is GraderKind.REGEX:
        return True
    if item.grader.kind is GraderKind.CHOICE:
        letters = letters_of(item.expected)
        choices = len(item.grader.options.get("choices", ()))
        return not choices or all(ord(letter) - ord("A") < choices for letter in letters)
    return all(_graded(item, text).verdict is Verdict.RIGHT for text in expected_texts(item.expected))


def _choice_flaws(item: EvalItem) -> list[Flaw]:
    few = len(item.grader.options.get("choices", (1, 2))) < 2
    return [*_text_flaws(item), *([Flaw.CANNOT_FAIL] if few else [])]


def _schema_flaws(item: EvalItem) -> list[Flaw]:
    grades = [_graded(item, text) for text in _JUNK_VALUES]
    if grades[0].reason is Reason.NO_EXPECTED:
        return [Flaw.MISSING_EXPECTED]
    if grades[0].reason is Reason.INVALID_SCHEMA:
        return [Flaw.INVALID_GRADER]
    return [] if any(grade.verdict is Verdict.WRONG for grade in grades) else [Flaw.CANNOT_FAIL]


def _code_flaws(item: EvalItem) -> list[Flaw]:
    tests = item.expected
    if not isinstance(tests, str) or not tests.strip():
        return [Flaw.MISSING_EXPECTED]
    try:
        parts = list(ast.walk(ast.parse(tests)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [Flaw.INVALID_GRADER]
    return [] if any(isinstance(part, ast.Assert | ast.Raise | ast.Call) for part in parts) else [Flaw.CANNOT_FAIL]


def _judge_flaws(item: EvalItem) -> list[Flaw]:
    return [] if any(text.strip() for text in expected_texts(item.expected)) else [Flaw.MISSING_EXPECTED]


def _call_flaws(item: EvalItem) -> list[Flaw]:
    try:
        case = tool_case(item)
    except ValueError:
        return [Flaw.INVALID_GRADER]
    schemas = [{} if parameters is None else parameters for parameters in case.tools.values()]
    if not all(_facts(schema).judges for schema in schemas):
        return [Flaw.INVALID_GRADER]
    # Nothing is expected, and no call can be wrong.
    free = case.oracle.trigger is Trigger.FREE and not case.oracle.calls
    return [Flaw.CANNOT_FAIL] if free and all(schema in ({}, True) for schema in schemas) else []


def _ungraded_flaws(_item: EvalItem) -> list[Flaw]:
    return [Flaw.UNGRADED]


_FLAWS = {
    GraderKind.EXACT: _text_flaws,
    GraderKind.NORMALISED: _text_flaws,
    GraderKind.REGEX: _text_flaws,
    GraderKind.NUMBER: _text_flaws,
    GraderKind.CHOICE: _choice_flaws,
    GraderKind.JSON_SCHEMA: _schema_flaws,
    GraderKind.CODE: _code_flaws,
    GraderKind.JUDGE: _judge_flaws,
    GraderKind.TOOL_CALLS: _call_flaws,
    GraderKind.UNGRADED: _ungraded_flaws,
}


def _graded(item: EvalItem, answer: str) -> Grade:
    return TEXT_GRADERS[item.grader.kind](answer, item.expected, **item.grader.options)


def _schemas(item: EvalItem) -> Iterator[Mapping[str, Any]]:
    """The schemas by which answers to an item are measured."""
    if item.grader.kind is GraderKind.JSON_SCHEMA:
        yield as_object(item.expected)
    if item.grader.kind is GraderKind.TOOL_CALLS:
        for tool in as_objects(list(item.request.get("tools", []))):
            yield as_object(as_object(tool.get("function")).get("parameters"))


@dataclass(frozen=True, slots=True)
class _SchemaFacts:
    """Whether a schema can reject anything, and whether it takes an object without keys, or with keys nobody meant."""

    judges: bool
    takes_empty: bool
    takes_strange: bool


def _facts(schema: object) -> _SchemaFacts:
    return _facts_of(canonical_json(schema))


# Checking a schema takes milliseconds, and the items of a suite share their tools.
@lru_cache(4096)
def _facts_of(text: str) -> _SchemaFacts:
    schema = ArgumentSchema(json.loads(text))
    return _SchemaFacts(schema.judges, schema.accepts({}), schema.accepts(_STRANGE))


def _is_open(schema: Mapping[str, Any]) -> bool:
    """Whether it takes an object without any key, or with keys that nobody meant. Tools without arguments are closed by
    `additionalProperties` alone."""
    facts, closed = _facts(schema), schema.get("additionalProperties") is False
    if not facts.judges:
        return False
    if not schema.get("properties"):
        return not closed and facts.takes_strange
    return not closed or facts.takes_empty
