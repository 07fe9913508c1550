"""What a goal is measured by: figures with their bars, over one store of what changed stacks answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.first_tokens import FirstTokenStore
from benchmarks.detection_lab.texts import TextStore
from benchmarks.simulated.figure import Figure as Simulated


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


def share(name: str, found: NDArray[np.bool_], alpha: float) -> Figure:
    """Of epochs that alarmed; α at most, and two standard errors of so many epochs."""
    most = alpha + 2.0 * np.sqrt(alpha * (1.0 - alpha) / found.size)
    return Figure(f"{name} ({int(found.sum())} of {found.size:,})", float(found.mean()), most=float(most), form=".4f")


def of_simulated(figures: Iterable[Simulated]) -> Iterator[Figure]:
    for one in figures:
        yield Figure(f"{one.what} {one.unit}".rstrip(), one.value, most=one.most, form=".4g")


def table(figures: list[Figure]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| figure | measured | bar | |"
    yield "| --- | --- | --- | --- |"
    for figure in figures:
        told = "" if figure.bar == "–" else "met" if figure.met else "missed"
        yield f"| {figure.name} | {figure.value:{figure.form}} | {figure.bar} | {told} |"
