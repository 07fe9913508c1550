"""The private evals of a check: answers become grades as they come, and what the grades say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from monitor.check.conclude import rate_value
from monitor.check.eval_suite import EvalPlan
from monitor.check.ledger import Ledger
from monitor.check.profiles import variant_of
from monitor.check.reference import OpenReference
from monitor.drift.eval_assess import RATE, EvalAssessment, assess_evals
from monitor.drift.findings import Finding
from monitor.drift.paired_items import Marks
from monitor.drift.rates import Rate, clustered_rate, rate
from monitor.drift.rule import Verdict
from monitor.store import MetricPoint
from monitor.verdict import RateValue
from probes.completion import Completion
from probes.evals.anchors import anchors_of
from probes.evals.grade import Graded, Reason, ungradable
from probes.evals.grade import Verdict as Mark
from probes.evals.grading import grade
from probes.evals.item import EvalItem, GraderKind
from probes.evals.judge import Bias, Judge, Opinion, ReferenceJudge, measure_bias
from probes.evals.sandbox import run_isolated
from probes.plan import Plan, ProbeKind, Sample
from probes.profile.variants import SampleKey
from reference_engine import EngineRequestError

ACCURACY = "accuracy"
# One of these takes seconds, in which other answers would wait.
_SLOW = (GraderKind.CODE, GraderKind.JUDGE)


class Grading:
    """Grades answers as they come, so that a suite of any length needs little memory: of an answer nothing is left but
    its grade and its facts. Those whose grading takes long are graded beside the asking, one at a time, until `close`.

    Raises IsolationError, before anything is paid for, where code would have to be run and cannot be isolated.
    """

    def __init__(self, plan: EvalPlan, judge: Judge | None) -> None:
        self._plan = plan
        self._judge = judge
        if self._asks(GraderKind.CODE):
            run_isolated("")
        self._done: list[Graded] = list(plan.graded)
        self._new: list[Graded] = list(plan.graded)
        self._variants: dict[SampleKey, str] = {}
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="grading")
        self._waiting: list[Future[Graded]] = []

    def take(self, sample: Sample) -> Sample:
        """What is still of use of the sample."""
        item = self._plan.items[sample.item.key]
        if (variant := variant_of(sample)) is not None:
            self._variants[item.sha256, sample.item.rep] = variant
        if item.grader.kind in _SLOW:
            self._waiting.append(self._aside.submit(_graded, item, sample, self._judge))
        else:
            self._add(_graded(item, sample, None))
        return _without_text(sample)

    def new(self) -> list[Graded]:
        """The grades since this was last asked for; at first those that an earlier run left."""
        for waiting in filter(_succeeded, tuple(self._waiting)):
            self._waiting.remove(waiting)
            self._add(waiting.result())
        new, self._new = self._new, []
        return new

    def rest(self) -> Iterator[list[Graded]]:
        """The grades that are not there yet, as they come. Raises what kept the grader from grading."""
        while self._waiting:
            self._waiting[0].result()
            yield self.new()

    def grades(self) -> list[Graded]:
        """Of every answer that came, in the plan's order."""
        for waiting in self._waiting:
            self._add(waiting.result())
        self._waiting = []
        return sorted(self._done, key=lambda one: (one.rep, one.item))

    def bias(self) -> Bias | None:
        """What the judge makes of answers whose grade is known."""
        return None if self._judge is None else measure_bias(self._judge, anchors_of(self.items.values()))

    def close(self) -> None:
        """What still waits is not graded."""
        self._aside.shutdown(wait=False, cancel_futures=True)

    def _add(self, graded: Graded) -> None:
        self._done.append(graded)
        self._new.append(graded)

    @property
    def plan(self) -> Plan:
        return self._plan.plan

    @property
    def whole(self) -> Plan:
        """With what an earlier run was answered."""
        return self._plan.whole

    @property
    def items(self) -> Mapping[str, EvalItem]:
        return self._plan.items

    @property
    def variants(self) -> Mapping[SampleKey, str]:
        """The serving stack that gave each answer, by item and repeat."""
        return self._variants

    def again(self, judge: Judge | None) -> Grading:
        """For another's answers to all of it."""
        return Grading(replace(self._plan, graded=()), judge)

    @property
    def needs_judge(self) -> bool:
        return self._plan.needs_judge

    def _asks(self, kind: GraderKind) -> bool:
        return any(item.grader.kind is kind for item in self._plan.items.values())


def _succeeded(grading: Future[Graded]) -> bool:
    return grading.done() and not grading.cancelled() and grading.exception() is None


def judge_in_turn(reference: OpenReference) -> Judge | None:
    """The reference as the judge of answers while others are asked for; None where there is none."""
    if reference.engine is None:
        return None
    judge = ReferenceJudge(reference.engine, profile=reference.allowed[0])

    def opinion(question: str, expected: str, answer: str) -> Opinion:
        with reference.turn:
            return judge(question, expected, answer)

    return opinion


class KeptGrades:
    """Keeps samples in the ledger, and those of a plan of evals as grades, from which a run that was broken off can be
    gone on with."""

    def __init__(self, ledger: Ledger, grading: Grading) -> None:
        self._ledger = ledger
        self._grading = grading

    def keep(self, probe: ProbeKind, sample: Sample) -> Sample:
        left = self._ledger.keep(probe, sample)
        return self._grading.take(left) if probe is ProbeKind.EVALS else left

    def flush(self) -> None:
        self._ledger.flush()
        self._ledger.keep_grades(self._grading.new())


@dataclass(frozen=True, slots=True)
class EvalAnswers:
    """Grades of one plan: the endpoint's, and the reference's, or why there are none; and what their judge is worth,
    where one was asked."""

    now: Sequence[Graded]
    reference: Sequence[Graded]
    no_reference: Finding
    bias: Bias | None = None


def not_compared(why: str) -> Finding:
    return Finding(Verdict.INAPPLICABLE, why, unit=RATE)


def assess_answers(answers: EvalAnswers, past: Sequence[Sequence[Graded]], no_past: str) -> EvalAssessment:
    """`past`: the grades of the runs to compare with."""
    return assess_evals(
        marks_of(answers.now),
        past=[marks_of(run) for run in past],
        reference=marks_of(answers.reference),
        no_past=Finding(Verdict.INCONCLUSIVE, no_past, unit=RATE, n=len({one.item for one in answers.now})),
        no_reference=answers.no_reference,
    )


def findings_of(found: EvalAssessment) -> dict[str, Finding]:
    """By the name of the check."""
    return {ProbeKind.EVALS.value: found.drift, f"fidelity.{ProbeKind.EVALS.value}": found.fidelity}


def with_items_of(runs: Iterable[Sequence[Graded]], now: Sequence[Graded]) -> list[Sequence[Graded]]:
    """The runs that asked any of the items: a suite's baseline has the runs of all its versions."""
    items = {one.item for one in now}
    return [run for run in runs if any(one.item in items for one in run)]


def mostly_new(runs: Iterable[Sequence[Graded]], now: Sequence[Graded]) -> bool:
    """Whether the runs asked less than half of the items: those of a version with other items."""
    asked, known = {one.item for one in now}, {one.item for run in runs for one in run}
    return 2 * len(asked & known) < len(asked)


def marks_of(graded: Iterable[Graded]) -> Marks:
    marks: defaultdict[str, list[bool | None]] = defaultdict(list)
    for one in graded:
        marks[one.item].append(one.grade.right)
    return dict(marks)


def accuracy(graded: Sequence[Graded]) -> Rate:
    """Right answers of those that can be graded; the others are counted by their reason."""
    excluded = Counter(_reason(one) for one in graded if one.grade.verdict is Mark.UNGRADABLE)
    counted = [[mark for mark in marks if mark is not None] for marks in marks_of(graded).values()]
    right, asked = [sum(marks) for marks in counted], [len(marks) for marks in counted]
    if max(asked, default=0) <= 1:
        return rate(sum(right), sum(asked), excluded=excluded)
    return clustered_rate(right, asked, excluded=excluded)


def rate_values(answers: EvalAnswers, items: Mapping[str, EvalItem]) -> tuple[RateValue, ...]:
    """The accuracy of all items and, where they have several categories, of each of these; then the judge's."""
    names = sorted({items[one.item].category for one in answers.now})
    whole, judge = _rate_value(ACCURACY, answers.now, answers.reference), _judge_values(answers.bias)
    if len(names) < 2:
        return (whole, *judge)
    parts = [
        _rate_value(f"{ACCURACY}.{name or '–'}", *(_of(side, name, items) for side in (answers.now, answers.reference)))
        for name in names
    ]
    return (whole, *parts, *judge)


def _judge_values(bias: Bias | None) -> tuple[RateValue, ...]:
    """How often it knows a known grade, and how often it takes a wrong answer for a right one."""
    if bias is None or not bias.anchors:
        return ()
    undecided = {Reason.JUDGE_UNDECIDED.value: bias.undecided} if bias.undecided else {}
    return (
        rate_value("judge.agreed", rate(bias.agreed, bias.decided, excluded=undecided)),
        rate_value("judge.wrong_called_right", rate(bias.wrong_called_right, bias.wrong)),
    )


def rate_points(answers: EvalAnswers) -> list[MetricPoint]:
    """Of the whole alone: a category's name is the suite's own, and stays out of the store."""
    found = accuracy(answers.now)
    name = f"{ProbeKind.EVALS.value}.{ACCURACY}"
    return [] if found.value is None else [MetricPoint(name, found.value, found.denominator)]


def _of(side: Sequence[Graded], category: str, items: Mapping[str, EvalItem]) -> list[Graded]:
    return [one for one in side if items[one.item].category == category]


def _rate_value(name: str, now: Sequence[Graded], reference: Sequence[Graded]) -> RateValue:
    return rate_value(name, accuracy(now), accuracy(reference))


def _reason(one: Graded) -> str:
    return (one.grade.reason or Reason.UNGRADED).value


def _graded(item: EvalItem, sample: Sample, judge: Judge | None) -> Graded:
    try:
        found = grade(item, sample, judge)
    except EngineRequestError:  # the judge has no room for the question
        found = ungradable(Reason.NO_JUDGE)
    return Graded(item.sha256, sample.item.rep, found)


def _without_text(sample: Sample) -> Sample:
    """Its counts, its quirks and the names that the endpoint gives itself."""
    attempts = tuple(replace(attempt, headers={}, body=b"", message=None) for attempt in sample.attempts)
    completion = None if sample.completion is None else _facts(sample.completion)
    return replace(sample, completion=completion, attempts=attempts, request={})


def _facts(completion: Completion) -> Completion:
    return Completion(
        completion.disposition,
        completion.quirks,
        completion.http_status,
        usage=completion.usage,
        model=completion.model,
        system_fingerprint=completion.system_fingerprint,
    )
