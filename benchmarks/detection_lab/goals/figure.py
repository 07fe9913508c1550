"""What a goal is measured by: figures with their bars, over one store of what changed stacks answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.detection_lab.first_tokens import FirstTokenStore
from benchmarks.detection_lab.texts import TextStore


@dataclass(frozen=True, slots=True)
class Lab:
    """What goals are measured on. `quick` shrinks grids and repetitions, never a bar."""

    first: FirstTokenStore
    texts: TextStore
    quick: bool
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; None as `least` or `most` is no bar on that side, and without either it is only told."""

    name: str
    value: float
    least: float | None = None
    most: float | None = None
    form: str = ".3f"

    @property
    def met(self) -> bool:
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)

    @property
    def bar(self) -> str:
        sides = [
            f"≥ {self.least:g}" if self.least is not None else "",
            f"≤ {self.most:g}" if self.most is not None else "",
        ]
        return " and ".join(filter(None, sides)) or "–"


def table(figures: list[Figure]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| figure | measured | bar | |"
    yield "| --- | --- | --- | --- |"
    for figure in figures:
        told = "" if figure.bar == "–" else "met" if figure.met else "missed"
        yield f"| {figure.name} | {figure.value:{figure.form}} | {figure.bar} | {told} |"
