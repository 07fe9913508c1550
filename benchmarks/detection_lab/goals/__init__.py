"""The goals of detection, each measured by one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.detection_lab.goals import g1, g2, g3, g4, g5, g6, g7, g8, g9, g10, g11, g12, g13
from benchmarks.detection_lab.goals.figure import Figure, Lab

GOALS: Mapping[str, Callable[[Lab], list[Figure]]] = {
    "G1": g1.measure,
    "G2": g2.measure,
    "G3": g3.measure,
    "G4": g4.measure,
    "G5": g5.measure,
    "G6": g6.measure,
    "G7": g7.measure,
    "G8": g8.measure,
    "G9": g9.measure,
    "G10": g10.measure,
    "G11": g11.measure,
    "G12": g12.measure,
    "G13": g13.measure,
}
