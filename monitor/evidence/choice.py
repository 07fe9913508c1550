"""Chooses the samples that show each failing class with the least to read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from monitor.evidence.classes import Classify, FailingClass, failing_classes
from monitor.store import Exchange
from monitor.store.browse_records import SampleRecord
from monitor.store.whole_samples import WholeSample


@dataclass(frozen=True, slots=True)
class ChosenClass:
    """`count` samples fail so, `kept` of them with their bodies; `ids` are the chosen ones, smallest first."""

    failing: FailingClass
    count: int
    kept: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Of a run with `samples`, of which `failed` fail, `gone` of these without a body by now. The class that most
    samples fail by comes first."""

    samples: int
    failed: int
    gone: int
    classes: tuple[ChosenClass, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """Every chosen sample once, in the order in which they came."""
        return tuple(sorted({sample_id for chosen in self.classes for sample_id in chosen.ids}))


def request_bytes(exchange: Exchange) -> bytes:
    """The body as the client sent it."""
    return json.dumps(exchange.request, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def choose(samples: Iterable[WholeSample], per_class: int, classify: Classify = failing_classes) -> Choice:
    """The `per_class` smallest samples of each class, by the bytes of request and answers: those of different items
    before a second one of the same, which shows nothing new."""
    found: dict[FailingClass, _Candidates] = {}
    count = failed = gone = 0
    for sample in samples:
        count += 1
        classes = classify(sample.facts)
        if not classes:
            continue
        failed += 1
        gone += sample.exchange is None
        size = None if sample.exchange is None else _size(sample.exchange)
        for failing in classes:
            found.setdefault(failing, _Candidates()).add(sample.facts, size)
    order = sorted(found, key=lambda failing: (-found[failing].count, failing))
    return Choice(count, failed, gone, tuple(found[failing].chosen(failing, per_class) for failing in order))


@dataclass(slots=True)
class _Candidates:
    count: int = 0
    kept: int = 0
    by_item: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, sample: SampleRecord, size: int | None) -> None:
        self.count += 1
        if size is not None:
            self.kept += 1
            self.by_item.setdefault(sample.item_key, []).append((size, sample.id))

    def chosen(self, failing: FailingClass, most: int) -> ChosenClass:
        ranked = [(again, *found) for repeats in self.by_item.values() for again, found in enumerate(sorted(repeats))]
        return ChosenClass(
            failing, self.count, self.kept, tuple(sample_id for _, _, sample_id in sorted(ranked)[:most])
        )


def _size(exchange: Exchange) -> int:
    return len(request_bytes(exchange)) + sum(answer.size for answer in exchange.answers)
