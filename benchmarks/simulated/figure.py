"""One simulated figure beside its goal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Figure:
    """`most` is the goal: the value may be no more; None where it is told and not judged. `goal` names it."""

    what: str
    value: float
    unit: str
    most: float | None = None
    goal: str = ""

    @property
    def missed(self) -> bool:
        return self.most is not None and not self.value <= self.most


def share(what: str, found: Sequence[bool] | np.ndarray, alpha: float, goal: str) -> Figure:
    """A simulated chance that may be α at most, two standard errors of the simulation added."""
    flags = np.asarray(found, dtype=bool)
    most = alpha + 2.0 * np.sqrt(alpha * (1.0 - alpha) / flags.size)
    return Figure(f"{what} ({flags.size:,})", float(flags.mean()), "", float(most), goal)


def printed(figures: Iterable[Figure]) -> list[Figure]:
    """The same, printed as they come."""
    print("| what | figure | at most | goal | |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    kept = []
    for one in figures:
        kept.append(one)
        most = "–" if one.most is None else f"{one.most:.4g}"
        met = "" if one.most is None else "miss" if one.missed else "met"
        print(f"| {one.what} | {one.value:.4g} {one.unit} | {most} | {one.goal or '–'} | {met} |", flush=True)
    return kept
