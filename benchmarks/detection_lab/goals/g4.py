"""G4: prompts that the reference finds nearly tied change their first token under int8, and B3IT sees it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.distances import tightest
from benchmarks.detection_lab.first_tokens import FirstTokens
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.lawful import Lawful, greedy_tokens, side_by_side
from benchmarks.detection_lab.rivals import b3it
from benchmarks.detection_lab.rivals.looks import auc

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

PROMPTS = 800
CHANGED = ("w8-channel", "fp8-e4m3", "w8-tensor", "w4-g64")
QUICK_CHANGED = ("w8-channel",)
INPUTS, REFERENCE, BATCH = 5, 50, 10
CANDIDATES, SEEN = 50, 100
NOISE = Lawful(0.03)
TRIALS, QUICK_TRIALS = 1_000, 300


def measure(lab: Lab) -> list[Figure]:
    unchanged = lab.first.get(UNCHANGED, PROMPTS)
    figures = []
    for name in QUICK_CHANGED if lab.quick else CHANGED:
        changed = lab.first.get(CHANGES[name], PROMPTS)
        least_flips, least_area = (0.4, 0.9) if name == "w8-channel" else (None, None)
        flips = (unchanged.ids[:, 0] != changed.ids[:, 0])[tightest(unchanged)].mean()
        found = area(unchanged, changed, QUICK_TRIALS if lab.quick else TRIALS, np.random.default_rng(lab.seed))
        figures += [
            Figure(f"{name}: flips of the 20 tightest of {PROMPTS} prompts", float(flips), least=least_flips),
            Figure(f"{name}: area of B3IT at {INPUTS} inputs × {BATCH}", found, least=least_area),
        ]
    return figures


def area(unchanged: FirstTokens, changed: FirstTokens, trials: int, rng: np.random.Generator) -> float:
    """Of B3IT's statistic, in the paper's sizes: 5 border inputs, 50 answers to each at enrolment, 10 in a batch. The
    inputs are the most balanced of the 50 tightest prompts after 100 noisy answers to each."""
    rows = border_inputs(unchanged, rng)
    sides = [
        side_by_side(unchanged.ids[row], unchanged.logprobs[row], changed.ids[row], changed.logprobs[row])
        for row in rows
    ]
    width = max(len(ours) for ours, _ in sides)
    ours, theirs = (np.stack([_padded(side[at], width) for side in sides]) for at in (0, 1))
    null, alternative = np.empty(trials), np.empty(trials)
    for trial in range(trials):
        reference = counts(ours, REFERENCE, rng)
        null[trial] = b3it.statistic(reference, counts(ours, BATCH, rng))
        alternative[trial] = b3it.statistic(reference, counts(theirs, BATCH, rng))
    return auc(null, alternative)


def border_inputs(unchanged: FirstTokens, rng: np.random.Generator) -> NDArray[np.intp]:
    candidates = tightest(unchanged, CANDIDATES)
    balances = b3it.balance(counts(unchanged.logprobs[candidates], SEEN, rng))
    return candidates[np.argsort(-balances, kind="stable")[:INPUTS]]


def counts(logprobs: Floats, responses: int, rng: np.random.Generator) -> Counts:
    """How often each token comes in so many noisy answers at temperature 0, [prompts, tokens]."""
    tokens = greedy_tokens(logprobs, responses, NOISE, rng)
    return np.stack([np.bincount(row, minlength=logprobs.shape[1]) for row in tokens])


def _padded(logprobs: Floats, width: int) -> Floats:
    return np.concatenate([logprobs, np.full(width - len(logprobs), -np.inf)])
