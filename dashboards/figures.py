"""The numbers that stand for an endpoint: how far it is from what it should be, and how far it has moved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dashboards.numbers import measured, moved
from monitor.store.records import EvidenceRecord

# The metric points that show what a check found, the most telling first.
POINTS = {"fidelity": "fidelity", "logprobs": "logprobs_shift", "accounting": "token_offset"}


@dataclass(frozen=True, slots=True)
class Figures:
    """`score` and `delta` as they are shown; `point` is the metric whose days are drawn, in `unit`."""

    score: str
    delta: str
    point: str
    unit: str


def figures(evidence: Iterable[EvidenceRecord]) -> Figures | None:
    """None where nothing was measured."""
    found = {each.metric: each for each in evidence if each.value is not None}
    leading = next((metric for metric in POINTS if metric in found), None)
    if leading is None:
        return None
    unit = found[leading].unit or "nat"
    return Figures(measured(found[leading].value, unit), _delta(found, leading), POINTS[leading], unit)


def _delta(found: dict[str, EvidenceRecord], leading: str) -> str:
    """The shift of the log-probabilities is a difference already; the token counts' is to their baseline."""
    if leading == "accounting":
        counts = found[leading]
        known = counts.value is not None and counts.baseline is not None
        return moved(counts.value - counts.baseline, "token") if known else ""  # type: ignore[operator]
    return moved(found["logprobs"].value, "nat") if "logprobs" in found else ""
