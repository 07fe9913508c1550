"""G2, its share about LT: how well one test of ten responses a side tells TinyChange's variants from the unchanged
model, by the area under the ROC curve of LT's statistic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import UNCHANGED, Change, tinychange
from benchmarks.detection_lab.first_tokens import FirstTokens
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.lawful import Lawful, listed, side_by_side
from benchmarks.detection_lab.rivals import lt
from benchmarks.detection_lab.rivals.looks import auc

Floats = NDArray[np.float64]

RESPONSES = 10
NOISE = Lawful(0.03)
BARS = {20: 0.90, 5: 0.85}
PROMPTS, TRIALS = 32, 200
QUICK_PROMPTS, QUICK_TRIALS = 8, 100
# One of each four powers of two, of fewer steps of training: those take the time.
QUICK = (
    *("noise-2^-3", "noise-2^-7", "noise-2^-11", "noise-2^-15"),
    *("smallest-2^-2", "smallest-2^-6", "smallest-2^-10", "random-2^-2", "random-2^-6", "random-2^-10"),
    *("tuned-1", "tuned-16", "lora-1", "lora-16"),
)


def measure(lab: Lab) -> list[Figure]:
    grid = [change for change in tinychange() if not lab.quick or change.name in QUICK]
    prompts, trials = (QUICK_PROMPTS, QUICK_TRIALS) if lab.quick else (PROMPTS, TRIALS)
    areas = {k: areas_of(lab, grid, k, prompts, trials) for k in BARS}
    figures = [
        Figure(f"mean area over {len(grid)} variants, top {k}", float(np.mean(list(areas[k].values()))), least=bar)
        for k, bar in BARS.items()
    ]
    for k, of_changes in areas.items():
        figures += [Figure(f"top {k}: {kind}", mean) for kind, mean in _by_kind(grid, of_changes).items()]
    return figures


def areas_of(lab: Lab, grid: Sequence[Change], k: int, prompts: int, trials: int) -> dict[str, float]:
    """The area for each change, a mean over prompts."""
    unchanged = lab.first.get(UNCHANGED, prompts)
    return {
        change.name: area(unchanged, lab.first.get(change, prompts), k, trials, np.random.default_rng((lab.seed, k)))
        for change in grid
    }


def area(unchanged: FirstTokens, changed: FirstTokens, k: int, trials: int, rng: np.random.Generator) -> float:
    """Each prompt is a test of its own, as LT asks one prompt."""
    rows = zip(unchanged.ids, unchanged.logprobs, changed.ids, changed.logprobs, strict=True)
    return float(np.mean([_area(*side_by_side(*row), k, trials, rng) for row in rows]))


def _area(ours: Floats, theirs: Floats, k: int, trials: int, rng: np.random.Generator) -> float:
    def responses(logprobs: Floats) -> Floats:
        return listed(logprobs + NOISE.drawn((trials, RESPONSES, len(logprobs)), rng), k)

    return auc(lt.statistic(responses(ours), responses(ours)), lt.statistic(responses(ours), responses(theirs)))


def _by_kind(grid: Sequence[Change], areas: dict[str, float]) -> dict[str, float]:
    found = defaultdict(list)
    for change in grid:
        found[change.kind].append(areas[change.name])
    return {kind: float(np.mean(each)) for kind, each in found.items()}
