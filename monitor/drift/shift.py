"""Has the endpoint moved? A run against its baseline: an exact test, and the size of the move in nats."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.drift.bootstrap import interval_of_mean
from monitor.drift.interval import Interval
from monitor.drift.observation import FloatArray, Observation
from monitor.drift.relabelling import (
    RELABELLINGS,
    Pool,
    PromptTable,
    Standardised,
    p_value,
    splits,
    standardise_anchors,
    standardise_pool,
)
from monitor.drift.residuals import residuals, step_coefficients, steps

# Squared scatter below which answers count as equal: the rounding of printed log-probabilities.
ROUNDING = 1e-6
# A step shorter than this (squared) is none, and no answer counts for more than so many steps.
NO_ENERGY = 1e-12
MOST_COEFFICIENT = 3.0


@dataclass(frozen=True, slots=True)
class Aligned:
    """One anchor prompt's answers over one token set, shape [answers, tokens]; which are new, shape [answers].

    steps: candidate - base expectations on the same tokens, shape [candidates, tokens] (zero where unknown).
    """

    values: FloatArray
    new: np.ndarray
    steps: FloatArray


@dataclass(frozen=True, slots=True)
class Single:
    """One single-use answer: its residual from the base, shape [k], and the steps towards the candidates there."""

    residual: FloatArray
    steps: FloatArray
    new: bool

    def scores(self) -> FloatArray:
        """Mean |residual| in nats, then one step coefficient a candidate."""
        counted = self.residual[np.isfinite(self.residual)]
        return np.concatenate([[np.abs(counted).mean()], step_coefficients(self.residual, self.steps)])


@dataclass(frozen=True, slots=True)
class Prepared:
    """The prepared data of one test. It depends on the labels only through `new`."""

    anchors: tuple[Aligned, ...]
    singles: tuple[Single, ...]


@dataclass(frozen=True, slots=True)
class ShiftTest:
    """p of the exact test; `shift` and `noise` in nats (mean |Δ| per token); n answers of the new run."""

    p: float
    statistic: float
    shift: float
    interval: Interval | None
    noise: float
    n: int


def prepare(
    baseline: Sequence[Observation], new: Sequence[Observation], base: str | None, candidates: Sequence[str]
) -> Prepared | None:
    """Pair the anchors and pool the single-use answers; None where nothing can be compared.

    base: the candidate the single-use answers are measured against, None without a reference.
    """
    anchors = tuple(_aligned_anchors(baseline, new, base, candidates))
    singles = () if base is None else tuple(_singles(baseline, new, base, candidates))
    if {single.new for single in singles} != {False, True}:
        singles = ()
    return Prepared(anchors, singles) if anchors or singles else None


def _aligned_anchors(
    baseline: Sequence[Observation], new: Sequence[Observation], base: str | None, candidates: Sequence[str]
) -> list[Aligned]:
    groups: dict[str, list[tuple[Observation, bool]]] = defaultdict(list)
    for observations, is_new in ((baseline, False), (new, True)):
        for observation in observations:
            if observation.anchor and observation.tokens:
                groups[observation.item_key].append((observation, is_new))
    aligned = []
    for key in sorted(groups):
        labels = np.array([is_new for _, is_new in groups[key]])
        if labels.any() and not labels.all():
            aligned.append(_align([observation for observation, _ in groups[key]], labels, base, candidates))
    return aligned


def _align(answers: Sequence[Observation], new: np.ndarray, base: str | None, candidates: Sequence[str]) -> Aligned:
    """One token set for all answers of a prompt, chosen without looking at the labels.

    Lists are cut to the shortest one, so that the statistic cannot depend on how many alternatives an endpoint
    returns; a token missing from a list gets that list's smallest value, which bounds it from above.
    """
    k = min(len(answer.tokens) for answer in answers)
    kept = [dict(_largest(answer, k)) for answer in answers]
    tokens = sorted({token for listed in kept for token in listed})
    smallest = [min(listed.values()) for listed in kept]
    values = np.array(
        [[listed.get(token, least) for token in tokens] for listed, least in zip(kept, smallest, strict=True)]
    )
    return Aligned(values, new, _steps(answers[-1], tokens, base, candidates))


def _largest(answer: Observation, k: int) -> list[tuple[bytes, float]]:
    order = np.argsort(-answer.logprobs, kind="stable")[:k]
    return [(answer.tokens[i], float(answer.logprobs[i])) for i in order]


def _steps(answer: Observation, tokens: Sequence[bytes], base: str | None, candidates: Sequence[str]) -> FloatArray:
    position = {token: i for i, token in enumerate(answer.reference_tokens)}
    columns = [(i, position[token]) for i, token in enumerate(tokens) if token in position]
    steps = np.zeros((len(candidates), len(tokens)))
    if base is not None and columns:
        here, there = (list(column) for column in zip(*columns, strict=True))
        for row, candidate in enumerate(candidates):
            steps[row, here] = answer.expected[candidate][there] - answer.expected[base][there]
    return steps


def _singles(
    baseline: Sequence[Observation], new: Sequence[Observation], base: str, candidates: Sequence[str]
) -> list[Single]:
    singles = []
    for observations, is_new in ((baseline, False), (new, True)):
        for observation in observations:
            if not observation.anchor and observation.tokens and observation.reference_tokens:
                residual = residuals(observation, [base]).of(base)
                if np.isfinite(residual).any():
                    towards = steps(observation, base, candidates, residual.size)
                    singles.append(Single(residual, towards, is_new))
    return singles


def prompt_table(aligned: Aligned, rng: np.random.Generator) -> PromptTable:
    """Statistics of every split: the share of the scatter that lies between new and old, then one step coefficient a
    candidate."""
    ways = splits(aligned.new.size, np.flatnonzero(aligned.new).tolist(), rng)
    new = ways.members.shape[1]
    old = ways.total - new
    centred = aligned.values - aligned.values.mean(axis=0)
    mean_new = centred[ways.members].mean(axis=1)
    between = mean_new * (ways.total / old)
    scatter = float((centred**2).sum()) + ROUNDING
    share = (between**2).sum(axis=1) * (new * old / ways.total) / scatter
    energy = (aligned.steps**2).sum(axis=1)
    coefficients = between @ aligned.steps.T / np.where(energy > NO_ENERGY, energy, np.inf)
    return PromptTable(np.column_stack([share, np.clip(coefficients, -MOST_COEFFICIENT, MOST_COEFFICIENT)]))


def statistic(prepared: Prepared, count: int, rng: np.random.Generator) -> tuple[float, FloatArray]:
    """The test statistic and its value under `count` relabellings."""
    anchors = pooled = None
    if prepared.anchors:
        anchors = standardise_anchors([prompt_table(aligned, rng) for aligned in prepared.anchors], count, rng)
    if prepared.singles:
        pooled = standardise_pool(_pool(prepared.singles), count, rng)
    tested = summed(anchors, pooled)
    return float(tested.observed), tested.relabelled


def summed(anchors: Standardised | None, pooled: Standardised | None) -> Standardised:
    """What is tested, of statistics that lie along the last axis.

    Anchors: the standardised share of scatter between runs. Directions: the largest |z| over the deviation from the
    reference and the steps towards each candidate, anchors and single-use prompts combined. Their sum is tested.
    """
    return Standardised(
        _summed(
            None if anchors is None else anchors.observed,
            None if pooled is None else pooled.observed,
        ),
        _summed(
            None if anchors is None else anchors.relabelled,
            None if pooled is None else pooled.relabelled,
        ),
    )


def _summed(anchors: FloatArray | None, pooled: FloatArray | None) -> FloatArray:
    along = [] if anchors is None else [anchors[..., 1:]]
    directions = along
    if pooled is not None:
        along = [*along, pooled[..., 1:]]
        directions = [pooled[..., :1], np.asarray(sum(along) / np.sqrt(len(along)))]
    spread = 0.0 if anchors is None else anchors[..., 0]
    largest = [np.abs(part).max(axis=-1, initial=0.0) for part in directions]
    return np.asarray(spread + np.max(largest, axis=0))


def _pool(singles: Sequence[Single]) -> Pool:
    return Pool(np.array([single.scores() for single in singles]), np.array([single.new for single in singles]))


def shift_test(prepared: Prepared, n: int, *, seed: int = 0, count: int = RELABELLINGS) -> ShiftTest:
    """The exact test, and the size of the move: what one answer's mean |Δ| from its baseline is beyond the noise."""
    rng = np.random.default_rng(seed)
    observed, relabelled = statistic(prepared, count, rng)
    noise = repeat_noise(prepared)
    shift, interval = float("nan"), None
    if prepared.anchors:
        squares, ends = interval_of_mean(np.array([_move_squared(aligned) for aligned in prepared.anchors]), seed=seed)
        shift = _mean_absolute(squares)
        interval = None if ends is None else Interval(_mean_absolute(ends.low), _mean_absolute(ends.high), ends.level)
    return ShiftTest(p_value(observed, relabelled), observed, shift, interval, noise, n)


def _move_squared(aligned: Aligned) -> float:
    """Mean Δ² between the new and the old mean of one prompt, less what the scatter within them explains: unbiased,
    so it may be negative."""
    new, old = aligned.values[aligned.new], aligned.values[~aligned.new]
    raw = float(((new.mean(axis=0) - old.mean(axis=0)) ** 2).mean())
    return raw - _scatter(aligned) * (1.0 / len(new) + 1.0 / len(old))


def _mean_absolute(mean_square: float) -> float:
    """The mean |Δ| of a normal Δ with this mean square."""
    return float(np.sqrt(max(0.0, mean_square) * 2.0 / np.pi))


def _scatter(aligned: Aligned) -> float:
    """Variance of one answer around its run's mean, per token; 0 where no run has repeats."""
    groups = [group for group in (aligned.values[aligned.new], aligned.values[~aligned.new]) if len(group) > 1]
    free = sum(len(group) - 1 for group in groups) * aligned.values.shape[1]
    squares = sum(float(((group - group.mean(axis=0)) ** 2).sum()) for group in groups)
    return squares / free if free else 0.0


def repeat_noise(prepared: Prepared) -> float:
    """What one answer differs by when nothing changed: mean |Δ| from its own run's mean, in nats."""
    if not prepared.anchors:
        return float("nan")
    return _mean_absolute(float(np.mean([_scatter(aligned) for aligned in prepared.anchors])))


def run_noise(observations: Sequence[Observation]) -> float:
    """`repeat_noise` of one run alone, from its repeated anchors; NaN without any."""
    groups: dict[str, list[Observation]] = defaultdict(list)
    for observation in observations:
        if observation.anchor and observation.tokens:
            groups[observation.item_key].append(observation)
    repeated = [answers for _, answers in sorted(groups.items()) if len(answers) > 1]
    anchors = tuple(_align(answers, np.ones(len(answers), dtype=bool), None, ()) for answers in repeated)
    return repeat_noise(Prepared(anchors, ()))


def without_shift(aligned: Aligned) -> Aligned:
    """The same prompt as it would look had nothing changed: both groups on one mean, scatter restored to full size."""
    values = aligned.values.copy()
    for group in (aligned.new, ~aligned.new):
        values[group] -= values[group].mean(axis=0)
    free = len(values) - 2
    values *= np.sqrt(len(values) / free) if free > 0 else 1.0
    return replace(aligned, values=values + aligned.values.mean(axis=0))
