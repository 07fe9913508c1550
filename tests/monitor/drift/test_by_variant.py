"""Which of several stacks behind one endpoint fails more, by the cases that they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitor.drift.by_variant import by_variant, failing_more
from monitor.drift.questions import failures
from monitor.drift.tool_questions import paired
from monitor.drift.trigger import Paired
from probes.tools.scored import Scored
from tests.monitor.drift.scored_answers import scored


def wrong(ours: Sequence[Scored], others: Sequence[Scored]) -> list[Paired]:
    return [failures(paired(ours, others, lambda answer: answer.right))]


def answers(case: str, right: Sequence[bool]) -> list[Scored]:
    return [scored(case, rep=rep, right=each) for rep, each in enumerate(right)]


CASES = [f"case-{number}" for number in range(10)]
GOOD = [one for case in CASES for one in answers(case, [True] * 4)]
BAD = [one for case in CASES for one in answers(case, [False, True])]


def test_one_stack_is_nothing_to_compare() -> None:
    assert by_variant([1, 2], lambda _: "a") == {}
    assert by_variant([1, 2], lambda _: None) == {}


def test_the_largest_comes_first_and_what_nobody_is_known_to_have_said_is_in_none() -> None:
    found = by_variant([1, 2, 3, 4, 9], lambda number: {1: "b", 9: None}.get(number, "a"))

    assert list(found.items()) == [("a", [2, 3, 4]), ("b", [1])]


def test_the_stack_that_fails_more_is_found_and_the_other_is_not() -> None:
    found = failing_more({"a": GOOD, "b": BAD}, wrong)

    assert found["b"] < 1e-4
    assert found["a"] > 0.99


def test_a_stack_that_was_sent_the_hard_cases_alone_is_not_accused() -> None:
    hard = [one for case in ("hard-1", "hard-2") for one in answers(case, [False] * 6)]

    assert failing_more({"a": GOOD, "b": hard}, wrong) == {}


def test_equal_stacks_are_seldom_taken_for_unequal() -> None:
    rng = np.random.default_rng(11)
    chances = rng.uniform(0.2, 1.0, len(CASES))
    hits = 0
    for _ in range(200):
        dealt: dict[str, list[Scored]] = {"a": [], "b": [], "c": []}
        for case, chance in zip(CASES, chances, strict=True):
            for rep in range(6):
                variant = rng.choice(["a", "b", "c"])
                dealt[variant].append(scored(case, rep=rep, right=bool(rng.random() < chance)))
        hits += min(failing_more(dealt, wrong).values()) <= 0.05

    assert hits <= 18  # of 200 at .05, more than that once in 100 times
