"""Grades an answer by its item's grader."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from probes.completion import Completion
from probes.evals.choice_grader import grade_choice
from probes.evals.code_grader import grade_code
from probes.evals.grade import RIGHT, Grade, Reason, ungradable, wrong
from probes.evals.item import EvalItem, GraderKind
from probes.evals.judge import Judge
from probes.evals.messages import question_in
from probes.evals.number_grader import grade_number
from probes.evals.schema_grader import grade_json_schema
from probes.evals.text_graders import expected_texts, grade_exact, grade_normalised, grade_regex

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
# An answer that ends so was not given to its end.
_CUT = {"length": Reason.LENGTH, "content_filter": Reason.CONTENT_FILTER}


def grade(item: EvalItem, completion: Completion | None, judge: Judge | None = None) -> Grade:
    """Grade what came for an item; None stands for no answer at all. Blocks while code runs or the judge thinks.

    Items of kind `tool_calls` are graded as cases (tool_case.py). Raises IsolationError where code cannot be isolated.
    """
    if completion is None or completion.http_status >= 400:
        return ungradable(Reason.NO_ANSWER)
    if completion.finish_reason in _CUT:
        return ungradable(_CUT[completion.finish_reason])
    answer = completion.content or completion.text or ""
    return grade_text(item, answer, judge)


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
