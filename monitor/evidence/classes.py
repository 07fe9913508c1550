"""Says by which classes a sample fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.evidence.wording import OF_FAULTS, OF_OUTCOMES, OF_QUIRKS
from monitor.store.browse_records import SampleRecord
from probes.plan import Outcome

if TYPE_CHECKING:
    from probes.tools.scored import Scored


@dataclass(frozen=True, slots=True, order=True)
class FailingClass:
    """`name` is stable: an outcome's, a quirk's, or a fault's of a tool-call case. `words` say what is wrong."""

    name: str
    words: str


Classify = Callable[[SampleRecord], tuple[FailingClass, ...]]


def failing_classes(sample: SampleRecord) -> tuple[FailingClass, ...]:
    """Its outcome, unless that is good, and every quirk that is held against an answer or makes it none; those of calls
    are the rungs of the tool-call ladder. What was never asked fails by nothing, and what was sent to be answered or
    refused not by its refusal, which alone has no error."""
    meant = sample.outcome is Outcome.REFUSED and sample.error_code is None
    return tuple(one for one in _failing(sample) if not (meant and one.name == Outcome.REFUSED.value))


def of_cases(scored: Mapping[tuple[str, int], Scored]) -> Classify:
    """What the answers to tool-call cases, by item and repeat, do not meet of their cases, and how else they fail. Of
    an answer that is right neither a refusal counts nor what a model may write: the case wanted it."""
    from probes.tools.attribution import Layer, layer_of

    models = {quirk.value for quirk in OF_QUIRKS if layer_of(quirk) is Layer.MODEL} | {Outcome.REFUSED.value}

    def classified(sample: SampleRecord) -> tuple[FailingClass, ...]:
        answer = scored.get((sample.item_key, sample.rep))
        if answer is None:
            return failing_classes(sample)
        faults = sorted(FailingClass(fault.value, OF_FAULTS[fault.value]) for fault in answer.faults)
        return (*faults, *(one for one in _failing(sample) if not (answer.right and one.name in models)))

    return classified


def _failing(sample: SampleRecord) -> Iterator[FailingClass]:
    if sample.outcome in OF_OUTCOMES:
        yield FailingClass(sample.outcome.value, OF_OUTCOMES[sample.outcome])
    for quirk, words in OF_QUIRKS.items():
        if quirk.value in sample.quirks:
            yield FailingClass(quirk.value, words)
