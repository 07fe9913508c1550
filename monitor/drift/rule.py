"""The one decision rule at run level (DETECTION.md §2.5): p-values, a lawful level and a detectable shift → verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

DRIFT_P = 1e-4
SUSPECT_P = 1e-2
# A move of less than this (nats) is lawful whatever its p-value: engines differ by as much between two builds.
LAWFUL_SHIFT = 0.01


class Verdict(StrEnum):
    OK = "ok"
    SUSPECT = "suspect"
    DRIFT = "drift"
    INCONCLUSIVE = "inconclusive"
    INAPPLICABLE = "inapplicable"


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjusted p-values: the chance of any false alarm among the run's checks stays below each."""
    adjusted: dict[str, float] = {}
    running = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda key: (p_values[key], key))):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = running
    return adjusted


def judge(p: float, *, beyond_lawful: bool, detectable: float, target: float) -> Verdict:
    """p is adjusted for all that the check tests. A move within the lawful level is no drift, however sure it is. `ok`
    needs a run that could have seen the target shift."""
    if beyond_lawful and p <= DRIFT_P:
        return Verdict.DRIFT
    if beyond_lawful and p <= SUSPECT_P:
        return Verdict.SUSPECT
    return Verdict.OK if detectable <= target else Verdict.INCONCLUSIVE


def roll_up(verdicts: Iterable[Verdict]) -> Verdict:
    """drift > suspect > ok; nothing concluded is inconclusive, and inapplicable is never a pass."""
    found = set(verdicts)
    for verdict in (Verdict.DRIFT, Verdict.SUSPECT, Verdict.OK):
        if verdict in found:
            return verdict
    return Verdict.INCONCLUSIVE
