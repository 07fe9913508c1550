"""G5: greedy answers, teacher-forced under the reference, show quantization in few tokens, where lawful noise does not.

Two tests on the same tokens. Ours (near_ties) walks through the prompts in a random order until its evidence is 13.5
nats, for one false alarm in a thousand months with any onset. Token-DiFR's rate of mismatches is given the tokens that
a test against the lawful rate needs for as much on average; the lawful rate is what noise of the same size makes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab import near_ties
from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.rivals import token_difr
from benchmarks.detection_lab.texts import Asked, Texts

Floats = NDArray[np.float64]

NATS = 13.5
BARS = {"nf4": 150.0, "fp8-e4m3": 1_000.0, "w8-channel": 2_000.0}
# Lawful where only the weights' format is known; and what short prompts show of a cache in 8 bits.
TOLD = ("bf16", "fp32-kv-fp8", "fp32-kv-int8")
PROMPTS, QUICK_PROMPTS = 25, 10
WALKS, QUICK_WALKS = 2_000, 400
# As many tokens as the longest bar allows.
LONGEST, ALPHA = 2_000, 0.01


def measure(lab: Lab) -> list[Figure]:
    asked = Asked(prompts=QUICK_PROMPTS if lab.quick else PROMPTS, tokens=60, temperature=0.0)
    unchanged = lab.texts.get(UNCHANGED, asked)
    lawful = float(turned_over(unchanged.gaps[there(unchanged)]).mean())
    figures = [
        Figure("fp32: share of mismatches", token_difr.mismatch_rate(unchanged.margins), form=".4f"),
        Figure(f"share that noise of {near_ties.LAWFUL} nat makes", lawful, form=".4f"),
        Figure(f"false alarms at {ALPHA} in {LONGEST} tokens of such noise", false_alarms(lab, unchanged), most=ALPHA),
    ]
    for name in (*BARS, *(() if lab.quick else TOLD)):
        figures += _of_change(lab, name, lab.texts.get(CHANGES[name], asked), lawful)
    return figures


def _of_change(lab: Lab, name: str, texts: Texts, lawful: float) -> list[Figure]:
    mismatches = token_difr.mismatch_rate(texts.margins)
    needed = token_difr.tokens_needed(mismatches, lawful, NATS)
    return [
        Figure(f"{name}: share of mismatches in {there(texts).sum()} tokens", mismatches, form=".4f"),
        Figure(f"{name}: mean clipped margin, nat", float(token_difr.clipped(texts.margins).mean()), form=".4f"),
        Figure(f"{name}: tokens, Token-DiFR's mismatches", needed, form=".0f"),
        Figure(f"{name}: tokens, near ties", tokens_to_detection(lab, texts), most=BARS.get(name), form=".0f"),
    ]


def there(texts: Texts) -> NDArray[np.bool_]:
    return ~np.isnan(texts.margins)


def turned_over(gaps: Floats) -> Floats:
    """The chance that lawful noise puts the runner-up first."""
    from scipy.stats import norm

    return np.asarray(norm.sf(gaps / near_ties.LAWFUL))


def tokens_to_detection(lab: Lab, texts: Texts) -> float:
    """The median over walks; ∞ where half of them end without."""
    rng = np.random.default_rng(lab.seed)
    found = []
    for _ in range(QUICK_WALKS if lab.quick else WALKS):
        margins, gaps = walk(texts, rng)
        tokens = near_ties.tokens_until(near_ties.log_evidence(near_ties.log_ratios(margins, gaps)), NATS)
        found.append(np.inf if tokens is None else tokens)
    return float(np.median(found))


def false_alarms(lab: Lab, unchanged: Texts) -> float:
    """The share of walks with lawful noise whose evidence is ever 1 / `ALPHA`."""
    rng = np.random.default_rng(lab.seed)
    walks = QUICK_WALKS if lab.quick else WALKS
    alarms = 0
    for _ in range(walks):
        _, gaps = walk(unchanged, rng)
        margins = np.where(rng.random(len(gaps)) < turned_over(gaps), gaps, 0.0)
        alarms += bool(near_ties.log_evidence(near_ties.log_ratios(margins, gaps)).max() >= -np.log(ALPHA))
    return alarms / walks


def walk(texts: Texts, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Margins and gaps of `LONGEST` tokens, from one prompt's answer after another, drawn with replacement."""
    margins, gaps = [], []
    tokens = 0
    while tokens < LONGEST:
        prompt = int(rng.integers(len(texts.ids)))
        known = there(texts)[prompt]
        margins.append(texts.margins[prompt][known])
        gaps.append(texts.gaps[prompt][known])
        tokens += int(known.sum())
    return np.concatenate(margins)[:LONGEST], np.concatenate(gaps)[:LONGEST]
