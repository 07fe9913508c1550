"""Says by which classes a sample fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from monitor.evidence.wording import OF_OUTCOMES, OF_QUIRKS
from monitor.store.browse_records import SampleRecord


@dataclass(frozen=True, slots=True, order=True)
class FailingClass:
    """`name` is stable: an outcome's or a quirk's. `words` say what is wrong."""

    name: str
    words: str


def failing_classes(sample: SampleRecord) -> tuple[FailingClass, ...]:
    """Its outcome, unless that is good, and every quirk that is held against an answer or makes it none; those of calls
    are the rungs of the tool-call ladder. What was never asked fails by nothing."""
    return tuple(_failing(sample))


def _failing(sample: SampleRecord) -> Iterator[FailingClass]:
    if sample.outcome in OF_OUTCOMES:
        yield FailingClass(sample.outcome.value, OF_OUTCOMES[sample.outcome])
    for quirk, words in OF_QUIRKS.items():
        if quirk.value in sample.quirks:
            yield FailingClass(quirk.value, words)
