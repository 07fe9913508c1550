"""G6: the sampler's exact test (monitor/drift/sampler.py) sees a changed temperature, nucleus or list in few draws, and
alarms no more often than it says.

Tokens are drawn from the bundled model's own next-token distributions, of the four requests in a list whose entropy is
nearest to 2.8 nats, through a sampler that is changed; what is reported are the 20 largest log-probabilities of the
distribution before the sampler, with four decimals. A round is a day: 25 draws of each request. The stake is put in
over 30 days; five unchanged ones come first, and draws are counted from the change to E ≥ 1,000, in whole days. Beside
them stands what no test that sees 20 log-probabilities stays below on average: (log 1,000 + log 30) / KL of what is
listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.whole_distributions import entropy, near_entropy
from monitor.drift import collisions, sampler
from monitor.drift.draws import NOT_LISTED, Cells, Draws
from monitor.drift.paths import wealth_paths

Floats = NDArray[np.float64]

ENTROPY, PROMPTS = 2.8, 4
LISTED, DRAWS, DAYS, UNCHANGED_DAYS = 20, 25, 30, 5
DETECTED, ALPHA = 1_000.0, 0.01
EPOCHS, QUICK_EPOCHS = 1_000, 200
NULL_EPOCHS, QUICK_NULL_EPOCHS = 20_000, 4_000
COPIES = 200

Sampler = Callable[[Floats], Floats]


def temperature(p: Floats, value: float) -> Floats:
    """Of chances [tokens], falling; as the others."""
    powers = p ** (1.0 / value)
    return np.asarray(powers / powers.sum())


def top_p(p: Floats, share: float) -> Floats:
    kept = np.where(np.cumsum(p) - p < share, p, 0.0)
    return np.asarray(kept / kept.sum())


def top_k(p: Floats, count: int) -> Floats:
    kept = np.where(np.arange(len(p)) < count, p, 0.0)
    return np.asarray(kept / kept.sum())


@dataclass(frozen=True, slots=True)
class Changed:
    by: Sampler
    most: float | None = None


CHANGES: Mapping[str, Changed] = {
    "temperature 0.9": Changed(partial(temperature, value=0.9), 1_000.0),
    "top_p 0.95": Changed(partial(top_p, share=0.95), 1_500.0),
    "top_k 50": Changed(partial(top_k, count=50), 300.0),
    "temperature 0.7": Changed(partial(temperature, value=0.7), 200.0),
    "temperature 1.1": Changed(partial(temperature, value=1.1)),
    "top_p 0.9": Changed(partial(top_p, share=0.9)),
}


def measure(lab: Lab) -> list[Figure]:
    return figures_of(near_entropy(lab.first.folder, ENTROPY, prompts=PROMPTS), lab.seed, quick=lab.quick)


def figures_of(p: Floats, seed: int, *, quick: bool) -> list[Figure]:
    """p: the chances of all tokens, falling, [prompts, tokens]."""
    rng = np.random.default_rng(seed)
    ratios = ratios_of(p)
    epochs = QUICK_EPOCHS if quick else EPOCHS
    alarms = highest(p, ratios, QUICK_NULL_EPOCHS if quick else NULL_EPOCHS, rng)
    return [
        Figure("mean entropy, nat", float(np.mean([entropy(each) for each in p]))),
        Figure(f"mean chance outside of the {LISTED}", float(1.0 - p[:, :LISTED].sum(axis=1).mean())),
        Figure("mean chance outside of the 50", float(1.0 - p[:, :50].sum(axis=1).mean())),
        Figure(f"epochs of {DAYS} days with a false alarm at {ALPHA}", alarmed(alarms, ALPHA), most=ALPHA, form=".4f"),
        Figure("at 0.05", alarmed(alarms, 0.05), most=0.05, form=".4f"),
        *(
            Figure(
                f"{name}: draws", float(np.median(delays(p, ratios, each.by, epochs, rng))), most=each.most, form=".0f"
            )
            for name, each in CHANGES.items()
        ),
        *(Figure(f"{name}: bound of draws", bound(p, each.by), form=".0f") for name, each in CHANGES.items()),
        *copied(p, rng),
    ]


def _delay(name: str, change: Changed, draws: float) -> Figure:
    return Figure(f"{name}: draws", draws, most=change.most, form=".0f")


def bound(p: Floats, by: Sampler) -> float:
    """Draws that the evidence needs on average by its expectation, were the change known."""
    divergences = []
    for each in p:
        before, after = (np.append(q[:LISTED], max(0.0, 1.0 - q[:LISTED].sum())) for q in (each, by(each)))
        some = after > 0.0
        divergences.append((after[some] * np.log(after[some] / before[some])).sum())
    divergence = float(np.mean(divergences))
    return float(np.log(DETECTED) + np.log(DAYS)) / divergence if divergence else np.inf


def alarmed(highest_values: Floats, alpha: float) -> float:
    return float((highest_values >= 1.0 / alpha).mean())


def stated(p: Floats) -> Floats:
    """What is reported of each prompt, [prompts, listed]."""
    return np.round(np.log(p[:, :LISTED]), 4)


def drawn_from(p: Floats, columns: NDArray[np.int64], prompts: NDArray[np.int64], ids: NDArray[np.int64]) -> Draws:
    return Draws(stated(p)[prompts], columns, ids, prompts, k=LISTED)


def ratios_of(p: Floats) -> Floats:
    """The test's ratios for every outcome, [prompts, listed and one for what is not, alternatives]."""
    outcomes = np.append(np.arange(LISTED), NOT_LISTED)
    prompts = np.repeat(np.arange(len(p)), len(outcomes))
    columns = np.tile(outcomes, len(p))
    cells = Cells.of(drawn_from(p, columns, prompts, columns))
    return sampler.log_ratios(cells).reshape(len(p), len(outcomes), -1)


def round_factors(p: Floats, ratios: Floats, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Of epochs and days of draws from p, [epochs, days, alternatives]."""
    logs = np.zeros((*shape, ratios.shape[-1]))
    for chances, of_prompt in zip(p, ratios, strict=True):
        listed = chances[:LISTED]
        counts = rng.multinomial(DRAWS, np.append(listed, max(0.0, 1.0 - listed.sum())), size=shape)
        logs += counts @ of_prompt
    return np.asarray(np.exp(logs))


def highest(p: Floats, ratios: Floats, epochs: int, rng: np.random.Generator) -> Floats:
    """The highest value of each unchanged epoch."""
    return wealth_paths(round_factors(p, ratios, (epochs, DAYS), rng), DAYS).max(axis=1)


def delays(p: Floats, ratios: Floats, by: Sampler, epochs: int, rng: np.random.Generator) -> Floats:
    """Draws from the change to detection in each epoch, ∞ where it does not come within it."""
    before = round_factors(p, ratios, (epochs, UNCHANGED_DAYS), rng)
    after = round_factors(np.stack([by(each) for each in p]), ratios, (epochs, DAYS - UNCHANGED_DAYS), rng)
    values = wealth_paths(np.concatenate([before, after], axis=1), DAYS)[:, UNCHANGED_DAYS:]
    found = values >= DETECTED
    days = np.where(found.any(axis=1), found.argmax(axis=1) + 1.0, np.inf)
    return np.asarray(days * DRAWS * len(p))


def copied(p: Floats, rng: np.random.Generator) -> list[Figure]:
    """What the test of collisions makes of one prompt's draws, drawn anew and all copies of the first."""
    anew, copies = [], []
    chances = p[0] / p[0].sum()
    for _ in range(COPIES):
        logs = np.cumsum(_collision_ratios(p, rng.choice(p.shape[1], DRAWS, p=chances)), axis=0)
        anew.append(np.exp(logs[-1]).mean())
        one = np.full(DRAWS, rng.choice(p.shape[1], p=chances))
        values = np.exp(np.cumsum(_collision_ratios(p, one), axis=0)).mean(axis=1)
        copies.append(np.argmax(values >= DETECTED) + 1.0 if (values >= DETECTED).any() else np.inf)
    return [
        Figure(f"{DRAWS} draws anew: share with collisions at {ALPHA}", alarmed(np.array(anew), ALPHA), most=ALPHA),
        Figure("draws that are all one answer: draws", float(np.median(copies)), form=".0f"),
    ]


def _collision_ratios(p: Floats, tokens: NDArray[np.int64]) -> Floats:
    """Of draws of the first prompt, [draws, alternatives]."""
    columns = np.where(tokens < LISTED, tokens, NOT_LISTED)
    draws = drawn_from(p, columns, np.zeros(len(tokens), dtype=np.int64), tokens)
    return collisions.log_ratios(tokens, Cells.of(draws).most_of_drawn)
