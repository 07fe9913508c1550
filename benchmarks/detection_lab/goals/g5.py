"""G5: greedy answers, teacher-forced under the reference, show quantization in few tokens, where lawful noise does not.

Two tests on the same tokens. Ours (near_ties) walks through the prompts in a random order until its evidence is 13.5
nats, for one false alarm in a thousand months with any onset. Token-DiFR's rate of mismatches is given the tokens that
a test against the lawful rate needs for as much on average; the lawful rate is what noise of the same size makes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.rivals import token_difr
from benchmarks.detection_lab.texts import Asked, Texts
from monitor.drift import near_ties

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
    walks = QUICK_WALKS if lab.quick else WALKS
    unchanged = lab.texts.get(UNCHANGED, asked)
    lawful = float(turned_over(unchanged.gaps[there(unchanged)]).mean())
    alarms = false_alarms(unchanged, walks, lab.seed)
    figures = [
        Figure("fp32: share of mismatches", token_difr.mismatch_rate(unchanged.margins), form=".4f"),
        Figure(f"share that noise of {near_ties.LAWFUL} nat makes", lawful, form=".4f"),
        Figure(f"false alarms at {ALPHA} in {LONGEST} tokens of such noise", alarms, most=ALPHA),
    ]
    for name in (*BARS, *(() if lab.quick else TOLD)):
        texts = lab.texts.get(CHANGES[name], asked)
        figures += [
            *_rival(name, texts, lawful),
            Figure(
                f"{name}: tokens, near ties",
                tokens_to_detection(texts, walks, lab.seed),
                most=BARS.get(name),
                form=".0f",
            ),
        ]
    return figures


def _rival(name: str, texts: Texts, lawful: float) -> list[Figure]:
    mismatches = token_difr.mismatch_rate(texts.margins)
    needed = token_difr.tokens_needed(mismatches, lawful, NATS)
    return [
        Figure(f"{name}: share of mismatches in {there(texts).sum()} tokens", mismatches, form=".4f"),
        Figure(f"{name}: mean clipped margin, nat", float(token_difr.clipped(texts.margins).mean()), form=".4f"),
        Figure(f"{name}: tokens, Token-DiFR's mismatches", needed, form=".0f"),
    ]


def there(texts: Texts) -> NDArray[np.bool_]:
    return ~np.isnan(texts.margins)


def turned_over(gaps: Floats) -> Floats:
    """The chance that lawful noise puts the runner-up first."""
    from scipy.stats import norm

    return np.asarray(norm.sf(gaps / near_ties.LAWFUL))


def tokens_to_detection(texts: Texts, walks: int, seed: int) -> float:
    """The median over walks; ∞ where half of them end without."""
    rng = np.random.default_rng(seed)
    known = there(texts)
    ratios = near_ties.log_ratios(texts.margins[known], texts.gaps[known])
    found = [near_ties.tokens_until(near_ties.log_evidence(ratios[walk(known, rng)]), NATS) for _ in range(walks)]
    return float(np.median([np.inf if tokens is None else tokens for tokens in found]))


def false_alarms(unchanged: Texts, walks: int, seed: int) -> float:
    """The share of walks with lawful noise whose evidence is ever 1 / `ALPHA`."""
    rng = np.random.default_rng(seed)
    known = there(unchanged)
    gaps = unchanged.gaps[known]
    kept, turned = (near_ties.log_ratios(margins, gaps) for margins in (np.zeros(len(gaps)), gaps))
    chances = turned_over(gaps)
    alarms = 0
    for _ in range(walks):
        places = walk(known, rng)
        flips = rng.random(len(places)) < chances[places]
        evidence = near_ties.log_evidence(np.where(flips[:, None], turned[places], kept[places]))
        alarms += bool(evidence.max() >= -np.log(ALPHA))
    return alarms / walks


def walk(known: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.intp]:
    """`LONGEST` places among the tokens that are there: the answer to one prompt after another, drawn at random."""
    ends = known.sum(axis=(1, 2)).cumsum()
    answers = np.split(np.arange(ends[-1]), ends[:-1])
    drawn: list[NDArray[np.intp]] = []
    while sum(map(len, drawn)) < LONGEST:
        drawn.append(answers[int(rng.integers(len(answers)))])
    return np.concatenate(drawn)[:LONGEST]
