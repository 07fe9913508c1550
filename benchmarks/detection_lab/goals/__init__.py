"""The goals of detection, each measured by one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.detection_lab.goals import g2, g4, g5, g6, g7, g12
from benchmarks.detection_lab.goals.figure import Figure, Lab

GOALS: Mapping[str, Callable[[Lab], list[Figure]]] = {
    "G2": g2.measure,
    "G4": g4.measure,
    "G5": g5.measure,
    "G6": g6.measure,
    "G7": g7.measure,
    "G12": g12.measure,
}
