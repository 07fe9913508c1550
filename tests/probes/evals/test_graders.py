"""Every grader: what is right, what is wrong, what cannot be said; and that a grade never holds the answer."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.completion import Completion, ToolCall
from probes.evals.choice_grader import grade_choice
from probes.evals.code_grader import code_in, grade_code
from probes.evals.grade import Grade, Reason, Verdict
from probes.evals.grading import TEXT_GRADERS, grade, grade_text
from probes.evals.item import EvalItem, Grader, GraderKind
from probes.evals.judge import Opinion
from probes.evals.number_grader import grade_number
from probes.evals.schema_grader import grade_json_schema
from probes.evals.text_graders import grade_exact, grade_normalised, grade_regex
from probes.plan import Attempt, Item, Outcome, Sample
from probes.quirks import Disposition
from tests.probes.evals.test_sandbox import isolated

AT = datetime(2026, 11, 29, tzinfo=UTC)
TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string"}},
            "required": ["q"],
            "additionalProperties": False,
        },
    },
}


def item(kind: GraderKind, expected: Any, request: dict[str, Any] | None = None, **options: Any) -> EvalItem:
    asked = {"messages": [{"role": "user", "content": "Well?"}], **(request or {})}
    return EvalItem(asked, Grader(kind, options), expected)


def sample(outcome: Outcome = Outcome.OK, **answer: Any) -> Sample:
    told = {"disposition": Disposition.ACCEPT, "quirks": (), "http_status": 200, "finish_reason": "stop", **answer}
    completion = None if outcome in {Outcome.TIMEOUT} else Completion(**told)
    return Sample(Item("key", 0, {}), outcome, completion, (Attempt(told["http_status"], {}, b"", AT, 0.1),))


def right(grade: Grade) -> bool | None:
    return grade.right


@pytest.mark.parametrize(
    ("answer", "expected", "is_right"),
    [("42", "42", True), (" 42\n", "42", True), ("42.", "42", False), ("b", ["a", "b"], True), ("7", 7, True)],
)
def test_exact(answer: str, expected: Any, is_right: bool) -> None:
    assert right(grade_exact(answer, expected)) is is_right


@pytest.mark.parametrize(
    ("answer", "expected", "anywhere", "is_right"),
    [
        ("The  Odyssey!", "odyssey", False, True),
        ("ＡＢＣ", "abc", False, True),
        ("STRASSE", "straße", False, True),
        ("It is Paris.", "Paris", False, False),
        ("It is Paris.", "Paris", True, True),
        ("It is Parisian.", "Paris", True, False),
        ("-3", "3", False, False),
        ("a b", ["x", "b"], True, True),
    ],
)
def test_normalised(answer: str, expected: Any, anywhere: bool, is_right: bool) -> None:
    assert right(grade_normalised(answer, expected, anywhere=anywhere)) is is_right


@pytest.mark.parametrize(
    ("answer", "pattern", "absent", "is_right"),
    [
        ("seven (7)", r"\(\d\)", False, True),
        ("seven", r"\d", False, False),
        ("привет", "[\u0400-\u04ff]", True, False),
        ("hello", "[\u0400-\u04ff]", True, True),
    ],
)
def test_regex(answer: str, pattern: str, absent: bool, is_right: bool) -> None:
    assert right(grade_regex(answer, pattern, absent=absent)) is is_right


def test_a_pattern_that_could_take_for_ever_is_not_tried() -> None:
    began = time.process_time()
    grade = grade_regex("a" * 5000 + "!", r"(a+)+$")
    assert (grade.verdict, grade.reason) == (Verdict.UNGRADABLE, Reason.UNSAFE_PATTERN)
    assert time.process_time() - began < 1
    assert grade_regex("x", "(").reason is Reason.INVALID_PATTERN


@pytest.mark.parametrize(
    ("answer", "expected", "tolerances", "is_right"),
    [
        ("So 5 × 12 − 3 = 57.", 57, {}, True),
        ("#### 57", "so 60-3 #### 57", {}, True),
        ("I count 1,234,567.5 in all", "1234567.5", {}, True),
        (r"Thus \boxed{-3} and not 4", -3, {}, True),
        ("−3", -3, {}, True),
        ("1/3", 0.3333, {"tolerance": 0.001}, True),
        ("1/3", 0.3333, {}, False),
        ("6.02e23", 6.022e23, {"relative": 0.001}, True),
        ("9007199254740993", 9007199254740993, {}, True),
        ("9007199254740992", 9007199254740993, {}, False),
        ("$42", "42", {}, True),
        ("50%", "50%", {}, True),
        ("version v2", 2, {}, False),
        ("none", 0, {}, False),
        ("1e9999 is large", 3, {}, False),
        ("1/0", 0, {}, False),
    ],
)
def test_number(answer: str, expected: Any, tolerances: dict[str, float], is_right: bool) -> None:
    assert right(grade_number(answer, expected, **tolerances)) is is_right


@pytest.mark.parametrize("answer", ["9" * 100_000, "1," * 50_000, "1/" * 50_000, "-" * 100_000, "." * 100_000])
def test_no_answer_makes_reading_its_number_slow(answer: str) -> None:
    began = time.process_time()
    grade_number(answer, 7)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("answer", "expected", "is_right"),
    [
        ("B", "B", True),
        ("**B**", "B", True),
        ("(B)", "B", True),
        ("B. cork", "B", True),
        ("The answer is B because A sinks.", "B", True),
        ("Answer: C", "B", False),
        ("answer: b", "B", False),
        ("cork", "B", True),
        ("A. lead\nB. cork\nI take the answer B", "B", True),
        ("A. no\nB. no", "B", False),
        ("Both sink", "B", False),
        ("A and C", ["A", "C"], True),
        ("The answers are C, A", ["A", "C"], True),
        ("A", ["A", "C"], False),
    ],
)
def test_choice(answer: str, expected: Any, is_right: bool) -> None:
    assert right(grade_choice(answer, expected, choices=["lead", "cork", "quartz"])) is is_right


SCHEMA = TOOL["function"]["parameters"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("answer", "fenced", "reason"),
    [
        ('{"q": "x"}', False, None),
        ('```json\n{"q": "x"}\n```', True, None),
        ('```json\n{"q": "x"}\n```', False, Reason.NOT_JSON),
        ('Here: {"q": "x"}', True, Reason.NOT_JSON),
        ('{"q": NaN}', False, Reason.NOT_JSON),
        ("[" * 5000, False, Reason.NOT_JSON),
        ('{"q": 1}', False, Reason.SCHEMA),
        ('{"q": "x", "r": 1}', False, Reason.SCHEMA),
    ],
)
def test_json_schema(answer: str, fenced: bool, reason: Reason | None) -> None:
    assert grade_json_schema(answer, SCHEMA, fenced=fenced).reason is reason


def test_a_schema_that_judges_nothing_grades_nothing() -> None:
    assert grade_json_schema("{}", {"type": "objekt"}).reason is Reason.INVALID_SCHEMA
    assert grade_json_schema("{}", "object").reason is Reason.NO_EXPECTED


TESTS = "assert double(21) == 42"


@isolated
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Sure:\n```python\ndef double(x):\n    return 2 * x\n```\nDone.", None),
        ("def double(x): return 2 * x", None),
        ("```python\ndef double(x):\n    return x\n```", Reason.TESTS_FAILED),
        ("```python\nimport os\nos._exit(0)\n```", Reason.TESTS_FAILED),
        ("```python\nprint('0' * 32)\nraise SystemExit(0)\n```", Reason.TESTS_FAILED),
        ("```python\ndef double(\n```", Reason.TESTS_FAILED),
        ("```python\ndef double(x):\n    while True: print(x)\n```", Reason.OVER_LIMITS),
        ("```rust\nfn main() {}\n```", Reason.NOTHING_FOUND),
        ("", Reason.NOTHING_FOUND),
    ],
)
def test_code(answer: str, reason: Reason | None) -> None:
    assert grade_code(answer, TESTS, cpu_s=1, wall_s=100).reason is reason


@isolated
def test_code_that_waits_is_not_called_wrong_since_the_machine_may_have_made_it_wait() -> None:
    grade = grade_code("import time\ntime.sleep(60)", TESTS, wall_s=0.3)
    assert (grade.verdict, grade.reason) == (Verdict.UNGRADABLE, Reason.TIMED_OUT)


def test_the_last_block_is_the_code() -> None:
    text = "```\nold\n```\nbetter:\n```py\nnew\n  ```\n```text\noutput\n```"
    assert code_in(text) == "new\n"


@pytest.mark.parametrize("kind", [kind for kind in TEXT_GRADERS if kind is not GraderKind.JSON_SCHEMA])
@pytest.mark.parametrize("expected", [None, [], {}, [{}], True])
def test_without_what_is_expected_nothing_is_graded(kind: GraderKind, expected: Any) -> None:
    assert grade_text(item(kind, expected), "an answer").reason is Reason.NO_EXPECTED


@settings(max_examples=50)
@given(st.sampled_from([kind for kind in TEXT_GRADERS if kind is not GraderKind.CODE]), st.text(max_size=200))
def test_any_answer_is_graded(kind: GraderKind, answer: str) -> None:
    expected = {"type": "integer"} if kind is GraderKind.JSON_SCHEMA else "A" if kind is GraderKind.CHOICE else "1"
    assert isinstance(grade_text(item(kind, expected), answer), Grade)


def test_what_is_no_whole_answer_is_neither_right_nor_wrong() -> None:
    asked = item(GraderKind.EXACT, "x")
    assert grade(asked, sample(content="x")).right is True
    assert grade(asked, sample(content=None)).right is False
    excluded = {
        Reason.TRANSPORT: sample(Outcome.TIMEOUT),
        Reason.RATE_LIMITED: sample(Outcome.RATE_LIMITED, http_status=429, disposition=Disposition.ERROR),
        Reason.REFUSED: sample(Outcome.HTTP_ERROR, http_status=400, disposition=Disposition.ERROR, error_message="no"),
        Reason.LENGTH: sample(content="x", finish_reason="length"),
        Reason.CONTENT_FILTER: sample(content="x", finish_reason="content_filter"),
    }
    for reason, given_sample in excluded.items():
        found = grade(asked, given_sample)
        assert (found.verdict, found.reason) == (Verdict.UNGRADABLE, reason)


def test_calls_are_graded_as_a_case() -> None:
    expected = {"calls": [{"name": "find", "args": {"/q": {"match": "ci", "value": "tides"}}}]}
    asked = item(GraderKind.TOOL_CALLS, expected, {"tools": [TOOL]})

    def calls(name: str, arguments: dict[str, Any]) -> Sample:
        call = ToolCall(name, "call_1", arguments, arguments_text=json.dumps(arguments))
        return sample(tool_calls=(call,), finish_reason="tool_calls")

    assert grade(asked, calls("find", {"q": "Tides"})).right is True
    assert grade(asked, calls("find", {"q": "winds"})) == Grade(Verdict.WRONG, Reason.CALLS)
    assert grade(asked, sample(content="Tides are…")).right is False
    assert grade(asked, sample(content="T", finish_reason="length")).reason is Reason.LENGTH


@pytest.mark.parametrize(
    "expected",
    [
        "find",
        {"calls": "find"},
        {"calls": [{"name": "other"}]},
        {"calls": [{"name": "find", "args": {"q": {}}}]},
        {"calls": [{"name": "find", "args": {"/q": {"match": []}}}]},
        {"calls": [{"name": "find", "args": {"/q": {"match": "number", "value": 1, "tolerance": "x"}}}]},
        {"trigger": ["must"]},
        {"trigger": "must_not", "calls": [{"name": "find"}]},
    ],
)
def test_calls_that_cannot_be_expected_are_held_against_nobody(expected: Any) -> None:
    asked = item(GraderKind.TOOL_CALLS, expected, {"tools": [TOOL]})
    assert grade(asked, sample(content="x")).reason is Reason.INVALID_CASE


def test_a_judge_decides_only_where_the_order_does_not() -> None:
    asked = item(GraderKind.JUDGE, ["yes", "indeed"])

    def says(forward: float, backward: float) -> Grade:
        return grade_text(asked, "of course", lambda *_: Opinion(forward, backward))

    assert says(0.9, 0.8).right is True
    assert says(0.1, 0.2).right is False
    assert says(0.9, 0.2).reason is Reason.JUDGE_UNDECIDED
    assert grade_text(asked, "of course").reason is Reason.NO_JUDGE
    assert grade_text(asked, " ", lambda *_: Opinion(1, 1)).right is False
    assert grade_text(item(GraderKind.UNGRADED, None), "x").reason is Reason.UNGRADED
