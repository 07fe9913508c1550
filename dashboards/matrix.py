"""The overview's matrix of models and providers: its cells, and which of them share a page. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboards.figures import Figures
from dashboards.sparkline import Sparkline
from dashboards.states import State


@dataclass(frozen=True, slots=True)
class Cell:
    """One endpoint. `endpoint_id` is None for one that is configured and was never seen; `name` is what the provider
    calls the model; `scheduled`: something checks it."""

    provider: str
    model: str
    name: str
    labels: tuple[tuple[str, str], ...]
    state: State
    endpoint_id: str | None = None
    figures: Figures | None = None
    spark: Sparkline | None = None
    checked_at: datetime | None = None
    next_at: datetime | None = None
    scheduled: bool = True

    def matches(self, wanted: str) -> bool:
        """Whether some word of it has `wanted` in it."""
        words = [self.provider, self.model, self.name, *(f"{name}:{value}" for name, value in self.labels)]
        return any(wanted in word.lower() for word in words)


@dataclass(frozen=True, slots=True)
class Row:
    model: str
    cells: tuple[tuple[str, tuple[Cell, ...]], ...]


def sheets(cells: Iterable[Cell], most: int) -> list[list[Cell]]:
    """The cells by model and provider, in pages of at most `most`. A model is on one page, so that an empty place means
    that the provider does not offer it; only one with more cells than fit has several, and shares none of them."""
    found: list[list[Cell]] = []
    room = 0
    for group in _by_model(cells):
        if len(group) <= room:
            found[-1] += group
            room -= len(group)
            continue
        found += [group[start : start + most] for start in range(0, len(group), most)]
        room = most - len(group)
    return found


def _by_model(cells: Iterable[Cell]) -> Iterator[list[Cell]]:
    groups: defaultdict[str, list[Cell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda cell: (cell.model, cell.provider, cell.name)):
        groups[cell.model].append(cell)
    yield from groups.values()


def providers_of(cells: Iterable[Cell]) -> list[str]:
    return sorted({cell.provider for cell in cells})


def rows(cells: Sequence[Cell]) -> list[Row]:
    providers = providers_of(cells)
    placed: defaultdict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        placed[cell.model, cell.provider].append(cell)
    models = dict.fromkeys(cell.model for cell in cells)
    return [Row(model, tuple((provider, tuple(placed[model, provider])) for provider in providers)) for model in models]
