"""G9: E reaches 1/α in no more epochs than α, however often one looks, and e-BH lists no more than a twentieth falsely
over 200 endpoints with shocks in common. Scores are made up, but for the last row, whose lists are the model's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.detection_lab.goals import g1
from benchmarks.detection_lab.goals.figure import Figure, Lab, of_simulated, share
from benchmarks.simulated import nulls

EPOCHS, QUICK_EPOCHS = 20_000, 2_000
LIST_EPOCHS, QUICK_LIST_EPOCHS = 2_000, 100
REPEATS, QUICK_REPEATS = 100, 10
ENDPOINTS, CHANGED = 200, 10
NOISE = 0.03
ALPHAS = (0.05, 0.01)


def measure(lab: Lab) -> list[Figure]:
    return list(figures(lab, QUICK_EPOCHS if lab.quick else EPOCHS))


def figures(lab: Lab, epochs: int, endpoints: int = ENDPOINTS) -> Iterator[Figure]:
    yield from of_simulated(nulls.false_alarms(nulls.border, epochs, seed=lab.seed))
    yield from real_lists(lab)
    repeats = QUICK_REPEATS if lab.quick else REPEATS
    found = nulls.false_discoveries(
        repeats, endpoints=endpoints, changed=endpoints * CHANGED // ENDPOINTS, seed=lab.seed
    )
    yield from of_simulated(found)


def real_lists(lab: Lab) -> Iterator[Figure]:
    """T1 of the unchanged stack's lists, as G1 has them."""
    rng = np.random.default_rng((lab.seed, 9))
    epochs = QUICK_LIST_EPOCHS if lab.quick else LIST_EPOCHS
    highest = g1.null_values(g1.unions(lab, ()), g1.with_days(NOISE), epochs, rng)
    for alpha in ALPHAS:
        yield share(f"T1 from the model's lists at {NOISE:g} nat, α = {alpha:g}", highest >= 1.0 / alpha, alpha)
