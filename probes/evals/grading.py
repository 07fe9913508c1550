"""Grades an answer by its item's grader."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from probes.evals.choice_grader import grade_choice
from probes.evals.code_grader import grade_code
from probes.evals.grade import RIGHT, Grade, Reason, right_if, ungradable, wrong
from probes.evals.item import EvalItem, GraderKind
from probes.evals.judge import Judge
from probes.evals.messages import question_in
from probes.evals.number_grader import grade_number
from probes.evals.schema_grader import grade_json_schema
from probes.evals.text_graders import expected_texts, grade_exact, grade_normalised, grade_regex
from probes.evals.tool_case import tool_case
from probes.plan import Sample
from probes.tools.case import Oracle, Trigger
from probes.tools.score import score
from probes.tools.standing import exclusion_of, whole_answer

# An answer's text, what is expected, and the grader's options.
TextGrader = Callable[..., Grade]

TEXT_GRADERS: Mapping[GraderKind, TextGrader] = {
    GraderKind.EXACT: grade_exact,
    GraderKind.NORMALISED: grade_normalised,
    GraderKind.REGEX: grade_regex,
    GraderKind.NUMBER: grade_number,
    GraderKind.CHOICE: grade_choice,
    GraderKind.JSON_SCHEMA: grade_json_schema,
    GraderKind.CODE: grade_code,
}
_OPEN = Oracle(Trigger.FREE)


def grade(item: EvalItem, sample: Sample, judge: Judge | None = None) -> Grade:
    """Grade what came for an item. Blocks while code runs or the judge thinks.

    Raises IsolationError where code would have to be run and cannot be isolated.
    """
    if item.grader.kind is GraderKind.TOOL_CALLS:
        return _called(item, sample)
    exclusion = exclusion_of(_OPEN, sample)
    if exclusion is not None:
        return ungradable(Reason(exclusion))
    answer = whole_answer(sample)
    return grade_text(item, "" if answer is None else answer.content or answer.text or "", judge)


def _called(item: EvalItem, sample: Sample) -> Grade:
    try:
        case = tool_case(item)
    except ValueError:
        return ungradable(Reason.INVALID_CASE)
    scored = score(case, sample)
    if scored.excluded is not None:
        return ungradable(Reason(scored.excluded))
    return right_if(scored.right is True, Reason.CALLS)


def grade_text(item: EvalItem, answer: str, judge: Judge | None = None) -> Grade:
    kind = item.grader.kind
    if kind in TEXT_GRADERS:
        return TEXT_GRADERS[kind](answer, item.expected, **item.grader.options)
    if kind is GraderKind.JUDGE:
        return _judged(item, answer, judge)
    return ungradable(Reason.UNGRADED)


def _judged(item: EvalItem, answer: str, judge: Judge | None) -> Grade:
    wanted = expected_texts(item.expected)
    if not any(wanted):
        return ungradable(Reason.NO_EXPECTED)
    if judge is None:
        return ungradable(Reason.NO_JUDGE)
    if not answer.strip():
        return wrong(Reason.NOTHING_FOUND)
    opinions = [judge(question_in(item.request), text, answer).right for text in wanted]
    if True in opinions:
        return RIGHT
    return wrong() if all(opinion is False for opinion in opinions) else ungradable(Reason.JUDGE_UNDECIDED)
