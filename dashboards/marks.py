"""How a chart's room is shared out: the letters of its marks stand above it, never over each other. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from dashboards.chart import Mark, Width
from monitor.store.series import Span

# Of one line of letters. The widest bold letter at this size takes 8.3 pixels.
ROW = 13.0
_CHARACTER = 8.5
_BETWEEN = 4.0

PLOT_HEIGHT = 170.0
# What the labels of the axes take.
_BESIDE, _BELOW = 54, 24


@dataclass(frozen=True, slots=True)
class Tag:
    """A letter in its box: `left` in pixels from the plot's left edge, `row` counted upwards from its upper edge.
    `count`: it stands for so many marks."""

    letter: str
    alert: bool
    count: int
    left: float
    row: int
    width: float

    @property
    def text(self) -> str:
        return self.letter if self.count == 1 else f"{self.letter}×{self.count}"

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


@dataclass(frozen=True)
class _Column:
    """Marks too near to each other for letters of their own: one column of letters, an alert's nearest to the plot."""

    places: tuple[tuple[float, Mark], ...]
    plot: float

    @cached_property
    def counts(self) -> list[tuple[tuple[str, bool], int]]:
        counted = Counter((mark.letter, mark.alert) for _, mark in self.places)
        return sorted(counted.items(), key=lambda item: (not item[0][1], item[0][0]))

    @cached_property
    def width(self) -> float:
        longest = max(len(Tag(letter, alert, count, 0, 0, 0).text) for (letter, alert), count in self.counts)
        return longest * _CHARACTER + _BETWEEN

    @cached_property
    def left(self) -> float:
        """In the middle over its lines, as far as the plot's edges allow."""
        middle = (self.places[0][0] + self.places[-1][0]) / 2
        return max(0.0, min(middle - self.width / 2, self.plot - self.width))

    def joined(self, later: _Column) -> _Column:
        return _Column((*self.places, *later.places), self.plot)

    def touches(self, later: _Column) -> bool:
        return later.left < self.left + self.width

    def tags(self) -> Iterable[Tag]:
        for row, ((letter, alert), count) in enumerate(self.counts):
            yield Tag(letter, alert, count, self.left, row, self.width)


def tags(marks: Sequence[Mark], span: Span, plot: float) -> list[Tag]:
    """The letters of `marks`, all within `span`, over a plot of so many pixels in width."""
    columns: list[_Column] = []
    for mark in sorted(marks, key=lambda mark: mark.at):
        column = _Column(((place(mark, span, plot), mark),), plot)
        while columns and columns[-1].touches(column):
            column = columns.pop().joined(column)
        columns.append(column)
    return [tag for column in columns for tag in column.tags()]


def place(mark: Mark, span: Span, plot: float) -> float:
    return (mark.at - span.start) / (span.end - span.start) * plot


def strip(found: Sequence[Tag]) -> float:
    """How much room above the plot these letters take, in pixels."""
    return ROW * (1 + max(tag.row for tag in found)) if found else 0.0


class Marked(Protocol):
    """A chart, as far as its letters go."""

    @property
    def marks(self) -> tuple[Mark, ...]: ...

    @property
    def span(self) -> Span: ...


def picture(chart: Marked, width: Width) -> tuple[int, int]:
    """The size of a whole chart, for a page that leaves room for it before it is there."""
    above = strip(tags(chart.marks, chart.span, width.plot))
    return round(width.plot) + _BESIDE, round(above + PLOT_HEIGHT) + _BELOW
