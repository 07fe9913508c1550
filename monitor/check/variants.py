"""Quality by serving stack, where several stand behind one endpoint: which of them is it that fails?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from monitor.check.conclude import rate_value
from monitor.check.evals import ACCURACY, accuracy, marks_of
from monitor.drift.by_variant import MOST_VARIANTS, by_variant, failing_more
from monitor.drift.questions import failures
from monitor.drift.rates import rate
from monitor.drift.tool_metrics import tool_metrics
from monitor.drift.tool_questions import conforms, paired
from monitor.drift.trigger import Paired
from monitor.verdict import RateValue, VariantRates
from probes.evals.grade import Graded
from probes.plan import ProbeKind
from probes.profile.variants import SampleKey
from probes.tools.scored import Scored

_TOOL_RATES = ("conformance_ok", "trigger_rate", "schema_ok", "value_ok", "oracle_met")

T = TypeVar("T")


def tool_variants(
    now: Sequence[Scored], reference: Sequence[Scored], variants: Mapping[SampleKey, str]
) -> tuple[VariantRates, ...]:
    """`variants` are by item and repeat. Nothing where one stack gave all answers."""

    def rates(answers: Sequence[Scored]) -> Iterator[RateValue]:
        cases = {answer.case_key for answer in answers}
        theirs = tool_metrics(answer for answer in reference if answer.case_key in cases)
        ours = tool_metrics(answers)
        return (rate_value(name, ours[name], theirs[name]) for name in _TOOL_RATES)

    groups = by_variant(now, lambda answer: variants.get((answer.item_key, answer.rep)))
    return tuple(_told(ProbeKind.TOOL_CALLS, groups, rates, failing_more(groups, _tool_failures)))


def eval_variants(
    now: Sequence[Graded], reference: Sequence[Graded], variants: Mapping[SampleKey, str]
) -> tuple[VariantRates, ...]:
    """The same of graded items."""

    def rates(answers: Sequence[Graded]) -> Iterator[RateValue]:
        items = {answer.item for answer in answers}
        theirs = [answer for answer in reference if answer.item in items]
        yield rate_value(ACCURACY, accuracy(answers), accuracy(theirs))

    groups = by_variant(now, lambda answer: variants.get((answer.item, answer.rep)))
    return tuple(_told(ProbeKind.EVALS, groups, rates, failing_more(groups, _eval_failures)))


def _told(
    probe: ProbeKind,
    groups: Mapping[str, Sequence[T]],
    rates: Callable[[Sequence[T]], Iterator[RateValue]],
    p_values: Mapping[str, float],
) -> Iterator[VariantRates]:
    total = sum(map(len, groups.values()))
    for variant, answers in islice(groups.items(), MOST_VARIANTS):
        share = rate(len(answers), total)
        yield VariantRates(
            probe=probe.value,
            variant=variant,
            share=len(answers) / total,
            interval=None if share.low is None or share.high is None else (share.low, share.high),
            n=len(answers),
            rates=tuple(rates(answers)),
            p=p_values.get(variant),
        )


def _tool_failures(ours: Sequence[Scored], others: Sequence[Scored]) -> list[Paired]:
    """Of the case's oracle, and of the protocol."""
    return [failures(paired(ours, others, success)) for success in (lambda answer: answer.right, conforms)]


def _eval_failures(ours: Sequence[Graded], others: Sequence[Graded]) -> list[Paired]:
    here, there = _graded(ours), _graded(others)
    both = [(here[item], there[item]) for item in here if item in there]
    x, y = [side for side, _ in both], [side for _, side in both]
    return [Paired.of(_wrong(x), list(map(len, x)), _wrong(y), list(map(len, y)))]


def _graded(answers: Sequence[Graded]) -> dict[str, list[bool]]:
    return {item: [mark for mark in marks if mark is not None] for item, marks in marks_of(answers).items()}


def _wrong(marks: Sequence[Sequence[bool]]) -> list[int]:
    return [each.count(False) for each in marks]
