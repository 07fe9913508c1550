"""Lint finds items that prove nothing, and finds nothing in those that do."""

from __future__ import annotations

from typing import Any

import pytest

from probes.evals.formats import Format
from probes.evals.item import EvalItem, Grader, GraderKind
from probes.evals.lint import Flaw, flaws_of, lint
from tests.probes.evals.test_formats import companion, items_of
from tests.probes.evals.test_graders import SCHEMA, TOOL, item

OPEN_TOOL = {"type": "function", "function": {"name": "open", "parameters": {"type": "object"}}}
LONG = "-" * 5000


@pytest.mark.parametrize(
    ("given", "flaws"),
    [
        (item(GraderKind.EXACT, "42"), []),
        (item(GraderKind.EXACT, None), [Flaw.MISSING_EXPECTED]),
        (item(GraderKind.NORMALISED, "Paris", anywhere=True), []),
        (item(GraderKind.NORMALISED, ["the", "?"]), [Flaw.MISSING_EXPECTED]),
        (item(GraderKind.REGEX, "(?i)yes"), []),
        (item(GraderKind.REGEX, "x*"), [Flaw.CANNOT_FAIL]),
        (item(GraderKind.REGEX, "("), [Flaw.INVALID_GRADER]),
        (item(GraderKind.REGEX, "[\u0400-\u04ff]", absent=True), []),
        (item(GraderKind.NUMBER, 3), []),
        (item(GraderKind.NUMBER, "about three"), [Flaw.MISSING_EXPECTED]),
        (item(GraderKind.CHOICE, "B", choices=["x", "y"]), []),
        (item(GraderKind.CHOICE, "C", choices=["x", "y"]), [Flaw.CANNOT_PASS]),
        (item(GraderKind.CHOICE, "A", choices=["x"]), [Flaw.CANNOT_FAIL]),
        (item(GraderKind.CHOICE, "yes"), [Flaw.MISSING_EXPECTED]),
        (item(GraderKind.JSON_SCHEMA, SCHEMA), []),
        (item(GraderKind.JSON_SCHEMA, {"type": "integer"}), []),
        (item(GraderKind.JSON_SCHEMA, {}), [Flaw.CANNOT_FAIL, Flaw.OPEN_SCHEMA]),
        (item(GraderKind.JSON_SCHEMA, {"type": "object"}), [Flaw.OPEN_SCHEMA]),
        (item(GraderKind.JSON_SCHEMA, {"type": 3}), [Flaw.INVALID_GRADER]),
        (item(GraderKind.CODE, "assert f(1) == 2"), []),
        (item(GraderKind.CODE, "pass"), [Flaw.CANNOT_FAIL]),
        (item(GraderKind.CODE, "assert f("), [Flaw.INVALID_GRADER]),
        (item(GraderKind.CODE, f"assert {LONG}1"), [Flaw.INVALID_GRADER]),
        (item(GraderKind.JUDGE, "Yes."), []),
        (item(GraderKind.JUDGE, " "), [Flaw.MISSING_EXPECTED]),
        (item(GraderKind.TOOL_CALLS, None, {"tools": [TOOL]}), []),
        (item(GraderKind.TOOL_CALLS, None, {"tools": [OPEN_TOOL]}), [Flaw.OPEN_SCHEMA]),
        (item(GraderKind.TOOL_CALLS, None), [Flaw.CANNOT_FAIL]),
        (item(GraderKind.TOOL_CALLS, {"calls": [{"name": "other"}]}, {"tools": [TOOL]}), [Flaw.INVALID_GRADER]),
        (item(GraderKind.UNGRADED, None), [Flaw.UNGRADED]),
    ],
)
def test_the_flaws_of_one_item(given: EvalItem, flaws: list[Flaw]) -> None:
    assert flaws_of(given) == flaws


@pytest.mark.parametrize(
    "text", ["canary GUID 26b5c67b-86b7", "This should NEVER appear in training corpora", "see canary-of-ours-1"]
)
def test_a_canary_in_what_is_sent_is_found(text: str) -> None:
    asked = {"messages": [{"role": "user", "content": [{"type": "text", "text": f"Well? {text}"}]}]}
    assert flaws_of(EvalItem(asked, Grader(GraderKind.EXACT), "x"), "canary-of-ours-1") == [Flaw.CANARY]
    assert flaws_of(item(GraderKind.EXACT, text), "another") == []


def test_the_same_prompt_twice_is_a_warning_with_its_first_place() -> None:
    one, two = item(GraderKind.EXACT, "x"), item(GraderKind.EXACT, "y")
    (problem,) = lint([(4, one), (9, two)])
    assert (problem.place, problem.first, problem.flaw, problem.error) == (9, 4, Flaw.DUPLICATE_PROMPT, False)
    assert problem.sha256 == two.sha256


def flaws_in(items: list[EvalItem]) -> list[tuple[int, Flaw]]:
    return [(problem.place, problem.flaw) for problem in lint(enumerate(items, start=1))]


def test_the_files_of_every_format() -> None:
    found: dict[str, Any] = {
        name: flaws_in(items_of(f"{name}.jsonl")) for name in ("own", "lm_eval", "inspect_samples")
    }
    assert found == {"own": [], "lm_eval": [], "inspect_samples": []}
    assert flaws_in(items_of("k2vv_samples.jsonl")) == [(2, Flaw.OPEN_SCHEMA), (3, Flaw.OPEN_SCHEMA)]
    assert flaws_in(items_of("minimax_sample.jsonl")) == [(3, Flaw.UNGRADED)]
    assert flaws_in(items_of("gpt_oss_cases.jsonl", companion(Format.GPT_OSS, "gpt_oss_tools.json"))) == []
