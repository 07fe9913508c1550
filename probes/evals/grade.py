"""What an answer is found to be, in words, never in its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# Of the graders together. Raise it where one of them finds otherwise of any answer: grades of two versions are not
# compared, so that a change of ours does not read as the endpoint's (tests/probes/evals/test_graders_version.py).
GRADERS = 1


class Verdict(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    UNGRADABLE = "ungradable"
    """Neither: no answer came, it was cut short, or the grader cannot say. No rate counts it; the reason is kept."""


class Reason(StrEnum):
    """Why an answer is wrong, or ungradable."""

    DIFFERENT = "different"
    NOTHING_FOUND = "nothing_found"
    """Nothing in the answer has the form of one: no number, no letter, no code."""
    NOT_JSON = "not_json"
    SCHEMA = "schema"
    TESTS_FAILED = "tests_failed"
    OVER_LIMITS = "over_limits"
    CALLS = "calls"

    TRANSPORT = "transport"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    CONTENT_FILTER = "content_filter"
    LENGTH = "length"
    """The answer was cut short by the number of tokens it may have."""
    NO_EXPECTED = "no_expected"
    UNSAFE_PATTERN = "unsafe_pattern"
    """The pattern could take for ever on an answer of this length."""
    INVALID_PATTERN = "invalid_pattern"
    INVALID_SCHEMA = "invalid_schema"
    INVALID_CASE = "invalid_case"
    """What is expected of the calls cannot be, by the tools of the request."""
    NO_JUDGE = "no_judge"
    JUDGE_UNDECIDED = "judge_undecided"
    """The judge says one thing in one order and another in the other."""
    TIMED_OUT = "timed_out"
    """Its code waited, or this machine was too busy to run it: who can tell."""
    UNGRADED = "ungraded"


@dataclass(frozen=True, slots=True)
class Grade:
    """`reason` is None for a right answer only."""

    verdict: Verdict
    reason: Reason | None = None

    @property
    def right(self) -> bool | None:
        return None if self.verdict is Verdict.UNGRADABLE else self.verdict is Verdict.RIGHT


@dataclass(frozen=True, slots=True)
class Graded:
    """What became of one answer: the item's hash, its repeat, the grade, and the version of the graders it is by."""

    item: str
    rep: int
    grade: Grade
    graders: int = GRADERS


RIGHT = Grade(Verdict.RIGHT)


def wrong(reason: Reason = Reason.DIFFERENT) -> Grade:
    return Grade(Verdict.WRONG, reason)


def ungradable(reason: Reason) -> Grade:
    return Grade(Verdict.UNGRADABLE, reason)


def right_if(condition: bool, reason: Reason = Reason.DIFFERENT) -> Grade:
    return RIGHT if condition else wrong(reason)
