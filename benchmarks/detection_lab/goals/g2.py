"""G2: how well one test of ten responses tells the variants of TinyChange from the unchanged model, by the area under
the ROC curve.

Ours asks one prompt: of 32 the one on which the reference finds int8 and fp8 easiest to see; it has 200 enrolled
answers, as every endpoint has, and whitens what ten more are off their means (`monitor/drift/whitened.py`). LT is told
as its authors have it, ten responses a side, a mean over prompts; and with ours' prompt and with its 200. The bound is
what no test exceeds that knows where the change goes: Φ(√(n Δᵀ Σ⁻¹ Δ / 2)) of shifts in normal noise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import CHANGES, UNCHANGED, Change, tinychange
from benchmarks.detection_lab.first_tokens import FirstTokens
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.hourly import Scoring, listings
from benchmarks.detection_lab.lawful import Lawful, listed, side_by_side
from benchmarks.detection_lab.rivals import lt
from benchmarks.detection_lab.rivals.looks import auc
from benchmarks.detection_lab.union import Union
from monitor.drift.deviations import mean_deviations
from monitor.drift.fingerprint import LEAST_ANSWERS, Enrolment, enrol
from monitor.drift.whitened import Whitening, distance, most_telling

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]

RESPONSES = 10
NOISE = Lawful(0.03)
BARS = {20: 0.90, 5: 0.85}
SUSPECTS = ("w8-channel", "fp8-e4m3")
# LT's mean is over the first few prompts; the one that ours asks is chosen from all.
PROMPTS, CHOSEN_FROM, TRIALS = 32, 32, 200
QUICK_PROMPTS, QUICK_TRIALS = 8, 100
ENROLMENTS = 5
# One of each four powers of two, of fewer steps of training: those take the time.
QUICK = (
    *("noise-2^-3", "noise-2^-7", "noise-2^-11", "noise-2^-15"),
    *("smallest-2^-2", "smallest-2^-6", "smallest-2^-10", "random-2^-2", "random-2^-6", "random-2^-10"),
    *("tuned-1", "tuned-16", "lora-1", "lora-16"),
)


def measure(lab: Lab) -> list[Figure]:
    grid = [change for change in tinychange() if not lab.quick or change.name in QUICK]
    return [figure for k, bar in BARS.items() for figure in of_lists(lab, grid, k, bar)]


def of_lists(lab: Lab, grid: Sequence[Change], k: int, bar: float) -> Iterator[Figure]:
    """All tests of the same variants and lists of k."""
    prompts, trials = (QUICK_PROMPTS, QUICK_TRIALS) if lab.quick else (PROMPTS, TRIALS)
    chosen = most_telling_prompt(lab, k)
    ours = {change.name: areas(lab, change, chosen, k, trials) for change in grid}
    theirs = areas_of(lab, grid, k, prompts, trials)
    what = f"top {k}, {RESPONSES} responses: mean area over {len(grid)} variants"
    yield Figure(f"{what}, ours", _mean(ours, WHITENED), least=bar)
    for kind, mean in _by_kind(grid, {name: found[WHITENED] for name, found in ours.items()}).items():
        yield Figure(f"top {k}, ours: {kind}", mean)
    for test in (DEVIATION, LT, LT_ENROLLED, BOUND):
        yield Figure(f"{what}, {test}", _mean(ours, test))
    yield Figure(f"{what}, LT, mean over {prompts} prompts", float(np.mean(list(theirs.values()))))
    for kind, mean in _by_kind(grid, theirs).items():
        yield Figure(f"top {k}, LT: {kind}", mean)


def _mean(found: Mapping[str, Mapping[str, float]], test: str) -> float:
    return float(np.mean([each[test] for each in found.values()]))


WHITENED, DEVIATION = "ours", "mean |Δ| of the means, our prompt"
LT, LT_ENROLLED = f"LT, our prompt, {RESPONSES} responses enrolled", f"LT, our prompt, {LEAST_ANSWERS} enrolled"
BOUND = "no test above this, our prompt"


@dataclass(frozen=True, slots=True, eq=False)
class Enrolled:
    """One prompt of an endpoint: its scoring, its noise, and the answers that were enrolled, [answers, tokens]."""

    scoring: Scoring
    noise: Whitening
    answers: Floats

    @classmethod
    def of(cls, union: Union, k: int, rng: np.random.Generator) -> Enrolled:
        """Of a union of one prompt. Days that moved by chance are waited for."""
        why = ""
        for _ in range(10):
            found = responses(union.logprobs[0, 0], LEAST_ANSWERS, k, rng)
            enrolled = enrol(listings(union, found[:, None]))
            if isinstance(enrolled, Enrolment):
                scoring = Scoring.of(enrolled, union)
                residuals = scoring.residuals(found[:, None])[:, 0]
                return cls(scoring, Whitening.of(residuals), found)
            why = enrolled.reason
        raise ValueError(f"none of ten baselines of the lab's prompt is accepted: {why}")

    def distances(self, found: Floats) -> Floats:
        """[trials] of [trials, responses, tokens]."""
        return distance(self.residuals(found), self.noise, LEAST_ANSWERS)

    def deviations(self, found: Floats) -> Floats:
        residuals = self.residuals(found)
        known = np.isfinite(residuals)
        total, count = np.where(known, residuals, 0.0).sum(axis=1), known.sum(axis=1)
        return mean_deviations(np.where(count > 0, total / np.maximum(count, 1), np.nan))

    def residuals(self, found: Floats) -> Floats:
        return self.scoring.residuals(found[..., None, :])[..., 0, :]


def responses(logprobs: Floats, shape: int | tuple[int, ...], k: int, rng: np.random.Generator) -> Floats:
    """Lists of k of one prompt [tokens], behind noise."""
    shape = (shape,) if isinstance(shape, int) else shape
    return listed(np.minimum(0.0, logprobs + NOISE.drawn((*shape, len(logprobs)), rng)), k)


def most_telling_prompt(lab: Lab, k: int) -> int:
    unchanged = lab.first.get(UNCHANGED, CHOSEN_FROM)
    steps = np.stack([lab.first.get(CHANGES[name], CHOSEN_FROM).at_unchanged for name in SUSPECTS]) - unchanged.logprobs
    part = NOISE.response**2 / 2.0
    return int(most_telling(steps[:, :, :k], [Whitening(np.full(k, part), part)] * CHOSEN_FROM)[0])


def areas(lab: Lab, change: Change, prompt: int, k: int, trials: int) -> dict[str, float]:
    """By test, of one prompt; a mean over enrolments."""
    unchanged, changed = (lab.first.get(one, CHOSEN_FROM) for one in (UNCHANGED, change))
    union = Union.of([unchanged, changed])
    one, rng = union.of_prompts(slice(prompt, prompt + 1)), np.random.default_rng((lab.seed, 2, k))
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(ENROLMENTS):
        enrolled = Enrolled.of(one, k, rng)
        sides = [responses(stack[0], (trials, RESPONSES), k, rng) for stack in one.logprobs]
        few = responses(one.logprobs[0, 0], (trials, RESPONSES), k, rng)
        many = enrolled.answers
        tests: dict[str, Statistic] = {
            WHITENED: enrolled.distances,
            DEVIATION: enrolled.deviations,
            LT: partial(lt.statistic, few),
            LT_ENROLLED: partial(lt.statistic, np.broadcast_to(many, (trials, *many.shape))),
        }
        for name, statistic in tests.items():
            found[name].append(auc(*(statistic(side) for side in sides)))
        found[BOUND].append(bound(enrolled, one, unchanged, changed, prompt))
    return {name: float(np.mean(each)) for name, each in found.items()}


def bound(enrolled: Enrolled, union: Union, unchanged: FirstTokens, changed: FirstTokens, prompt: int) -> float:
    """Of the enrolled tokens, all of which the changed stack's log-probabilities are known of."""
    from scipy.stats import norm

    shifts = changed.at_unchanged[prompt] - unchanged.logprobs[prompt]
    of_token = dict(zip(unchanged.ids[prompt].tolist(), shifts.tolist(), strict=True))
    shift = np.array([of_token[token] for token in union.ids[0, enrolled.scoring.places[0]].tolist()])
    return float(norm.cdf(np.sqrt(RESPONSES * enrolled.noise.squared(shift) / 2.0)))


def areas_of(lab: Lab, grid: Sequence[Change], k: int, prompts: int, trials: int) -> dict[str, float]:
    """LT's area for each change, a mean over prompts."""
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
    def of(logprobs: Floats) -> Floats:
        return listed(logprobs + NOISE.drawn((trials, RESPONSES, len(logprobs)), rng), k)

    return auc(lt.statistic(of(ours), of(ours)), lt.statistic(of(ours), of(theirs)))


def _by_kind(grid: Sequence[Change], areas: Mapping[str, float]) -> dict[str, float]:
    found = defaultdict(list)
    for change in grid:
        found[change.kind].append(areas[change.name])
    return {kind: float(np.mean(each)) for kind, each in found.items()}
