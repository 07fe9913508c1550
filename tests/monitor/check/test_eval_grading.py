"""What takes long to grade is graded beside the asking, and each grade is there as soon as it is made."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from monitor.check.eval_suite import EvalSuite, eval_plan
from monitor.check.evals import Grading
from probes.completion import Completion
from probes.evals.grade import Graded
from probes.evals.grade import Verdict as Mark
from probes.evals.item import EvalItem, Grader, GraderKind
from probes.evals.judge import Judge, Opinion
from probes.plan import Outcome, Sample
from probes.quirks import Disposition
from reference_engine import EngineError

ITEMS = 3
HANGS_AFTER_S = 30


def suite(kind: GraderKind = GraderKind.JUDGE) -> EvalSuite:
    items = tuple(
        EvalItem({"messages": [{"role": "user", "content": f"What is {n}?"}]}, Grader(kind), expected=f"{n}")
        for n in range(ITEMS)
    )
    return EvalSuite("sums", 1, "0" * 64, items)


def answered(grading: Grading) -> None:
    for item in grading.plan.items:
        answer = Completion(Disposition.ACCEPT, (), 200, content="a number", finish_reason="stop")
        grading.take(Sample(item, Outcome.OK, answer, ()))


def marks(graded: list[Graded]) -> set[Mark]:
    return {one.grade.verdict for one in graded}


def agrees(question: str, expected: str, answer: str) -> Opinion:
    return Opinion(0.9, 0.9)


def test_grades_come_while_others_are_still_thought_about() -> None:
    goes_on = threading.Event()

    def slow(question: str, expected: str, answer: str) -> Opinion:
        if expected != "0":
            assert goes_on.wait(HANGS_AFTER_S)
        return agrees(question, expected, answer)

    with closing(Grading(eval_plan(suite()), slow)) as grading:
        answered(grading)
        early = grading.new()
        goes_on.set()
        late = [one for some in grading.rest() for one in some]

    assert len(early) <= 1
    assert len(early + late) == ITEMS
    assert grading.grades() == sorted(early + late, key=lambda one: one.item)
    assert marks(early + late) == {Mark.RIGHT}


def test_a_run_goes_on_with_what_a_judge_has_graded() -> None:
    with closing(Grading(eval_plan(suite()), agrees)) as grading:
        answered(grading)
        first = next(grading.rest())

    left = eval_plan(EvalSuite("sums", 1, "0" * 64, suite().items, graded=tuple(first)))

    assert {item.key for item in left.plan.items} == {one.sha256 for one in suite().items} - {one.item for one in first}
    assert len(first) >= 1


@pytest.mark.parametrize("judge", [None, agrees])
def test_without_a_judge_nothing_is_graded(judge: Judge | None) -> None:
    with closing(Grading(eval_plan(suite()), judge)) as grading:
        answered(grading)

        assert marks(grading.grades()) == {Mark.UNGRADABLE if judge is None else Mark.RIGHT}


def test_a_judge_that_fails_ends_the_grading_and_loses_no_grade() -> None:
    opinions = 0

    def soon_gone(question: str, expected: str, answer: str) -> Opinion:
        nonlocal opinions
        opinions += 1
        if opinions > 1:
            raise EngineError("The reference is gone.")
        return agrees(question, expected, answer)

    kept: list[Graded] = []
    with closing(Grading(eval_plan(suite()), soon_gone)) as grading:
        answered(grading)
        with pytest.raises(EngineError):
            kept.extend(one for some in grading.rest() for one in some)

    assert len(kept) == 1
    assert grading.new() == []
