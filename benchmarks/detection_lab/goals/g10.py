"""G10: how far the likeliest first round of a proven change is from its first round: of a swap, seen by T1 and by T2,
and of int8, by T1. Runs are those of G1 and G3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.detection_lab.goals import g1, g3
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.hourly import Proof

SWAP, INT8 = "anew", "w8-channel"
BARS = {SWAP: 2.0, INT8: 12.0}
CALLED = {SWAP: "swap", INT8: "int8"}


def measure(lab: Lab) -> list[Figure]:
    figures: list[Figure] = []
    for noise in g1.BARS:
        found = g1.delays(lab, tuple(BARS), g1.with_days(noise), g1.sizes(lab).endpoints)
        for name, proofs in found.items():
            figures += of_proofs(f"T1, {CALLED[name]} at {noise:g} nat", proofs, BARS[name])
    return [*figures, *of_proofs("T2, swap", g3.of_share(lab, SWAP, 1.0), BARS[SWAP])]


def of_proofs(name: str, proofs: Sequence[Proof], most: float) -> Iterator[Figure]:
    """Without any proof nothing is dated, which meets no bar."""
    dated = np.array([one.dated for one in proofs if np.isfinite(one.rounds)])
    dated = dated[~np.isnan(dated)]
    what = f"{name}: median error of the onset, hourly rounds ({dated.size} of {len(proofs)} dated)"
    yield Figure(what, float(np.median(dated)) if dated.size else float("inf"), most=most, form=".1f")
