"""A run's greedy answers (T3), as the reference read them: what they are found to be, and what streams are told.

Against the endpoint's own past: the share of an answer's tokens that the reference would clearly not have given. All
questions are drawn from one grammar and used once, so answers of all runs could change places while nothing changes.
Against the reference: near ties, of which the null is that the endpoint's numbers lie within 0.03 nat of the
reference's. An endpoint whose baseline says otherwise is held against its past alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from monitor.drift.evidence import Evidence, Factors, Inapplicable, StreamKey, Tier
from monitor.drift.findings import Finding
from monitor.drift.greedy_divergence import divergence, of_greedy
from monitor.drift.near_ties import of_near_ties
from monitor.drift.observation import FloatArray, Observation
from monitor.drift.rule import Verdict, judge

MARGIN, GAP = "margin", "gap"
ANSWERS, NEAR_TIES = "greedy", "near-ties"
# Tokens of a baseline before near ties are read.
LEAST_TOKENS = 4_000
# From here on a baseline is not within the noise that near ties take for lawful.
DOUBTED_AT = 20.0
# Answers of a baseline before a run is held against it: fewer could prove nothing.
LEAST_ANSWERS = 20
_RESAMPLES = 199_999
_NO_ANSWER = "no answer could be read: its tokens are counted otherwise than by the reference's tokenizer"


@dataclass(frozen=True, slots=True)
class Greedy:
    """What a run's answers are found to be, and what streams are told; evidence has no time yet: that is the run's."""

    finding: Finding
    evidence: tuple[Evidence, ...]


class _Read(NamedTuple):
    """margins, gaps: nat, [answers, tokens], nan past an answer's end; prompts: tokens of each prompt, [answers]."""

    margins: FloatArray
    gaps: FloatArray
    prompts: np.ndarray


def as_observation(
    key: str, margins: FloatArray, gaps: FloatArray, prompt_tokens: int, claimed: int | None
) -> Observation:
    """An answer as the reference read it, to be kept: log p(most likely) − log p(given) and − log p(the second), nat,
    [tokens]. None of its tokens are."""
    return Observation(
        item_key=key,
        rep=0,
        anchor=False,
        tokens=(),
        logprobs=np.array([]),
        sampled=None,
        reference_tokens=(b"",) * len(margins),
        expected={MARGIN: margins, GAP: gaps},
        prompt_tokens=claimed,
        expected_prompt_tokens=prompt_tokens,
        response_id=None,
    )


def assess_greedy(
    endpoint: str,
    new: Sequence[Observation],
    baseline: Sequence[Observation],
    *,
    no_past: str,
    shares: int = 1,
    seed: int = 0,
) -> Greedy:
    """baseline: the observations of its runs; no_past: why there is none, where there is none; shares: of the check's
    error; seed: of the relabellings."""
    now, before = _read(new), _read(baseline)
    key = StreamKey(endpoint, Tier.GREEDY, ANSWERS)
    if not len(now.margins):
        evidence = Evidence(key._replace(probe_set=f"{ANSWERS}/short"), 0.0, Inapplicable(_NO_ANSWER), 0)
        return Greedy(Finding(Verdict.INAPPLICABLE, _NO_ANSWER), (evidence,))
    told = list(of_greedy(key, 0.0, now.margins, now.prompts).values())
    if not baseline:
        return Greedy(Finding(Verdict.INCONCLUSIVE, no_past, n=len(now.margins)), tuple(told))
    tests: dict[str, float] = {}
    ties = of_near_ties(key._replace(probe_set=NEAR_TIES), 0.0, now.margins, now.gaps)
    if isinstance(ties.says, Factors) and _trusts(before):
        told.append(ties)
        tests[ties.reasons[0]] = ties.says.p
    scores, past = _scores(now), _scores(before)
    if len(past) >= LEAST_ANSWERS:
        tests[_moved(scores, past)] = _rank_p(scores, past, seed)
    return Greedy(_finding(tests, scores, past, shares), tuple(told))


def _read(observations: Iterable[Observation]) -> _Read:
    kept = [one for one in observations if MARGIN in one.expected and len(one.expected[MARGIN])]
    width = max((len(one.expected[MARGIN]) for one in kept), default=0)
    margins, gaps = np.full((len(kept), width), np.nan), np.full((len(kept), width), np.nan)
    for row, one in enumerate(kept):
        margins[row, : len(one.expected[MARGIN])] = one.expected[MARGIN]
        gaps[row, : len(one.expected[GAP])] = one.expected[GAP]
    return _Read(margins, gaps, np.array([one.expected_prompt_tokens or 0 for one in kept], dtype=np.int64))


def _trusts(before: _Read) -> bool:
    """Whether a baseline of tokens enough is within the noise that near ties take for lawful."""
    if (~np.isnan(before.margins)).sum() < LEAST_TOKENS:
        return False
    says = of_near_ties(StreamKey("", Tier.GREEDY, NEAR_TIES), 0.0, before.margins, before.gaps).says
    return isinstance(says, Factors) and says.average < DOUBTED_AT


def _scores(read: _Read) -> FloatArray:
    """Of each answer the share of its tokens that the reference would clearly not have given."""
    found = divergence(read.margins) if read.margins.size else None
    return np.array([]) if found is None else found.scores


def _rank_p(now: FloatArray, before: FloatArray, seed: int) -> float:
    """P(a mean so far above that of the baseline's), by dealing the answers out anew; never below 1 / 200,000 (Phipson
    & Smyth 2010)."""
    from scipy.stats import permutation_test

    def above(one: FloatArray, other: FloatArray, axis: int) -> FloatArray:
        return np.asarray(one.mean(axis=axis) - other.mean(axis=axis))

    found = permutation_test(
        (now, before),
        above,
        vectorized=True,
        n_resamples=_RESAMPLES,
        batch=10_000,
        alternative="greater",
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def _moved(now: FloatArray, before: FloatArray) -> str:
    return f"the reference would clearly not give {now.mean():.2%} of the tokens, {before.mean():.2%} before"


def _finding(tests: Mapping[str, float], now: FloatArray, before: FloatArray, shares: int) -> Finding:
    if not tests:
        why = f"{len(before)} of {LEAST_ANSWERS} answers of a baseline"
        return Finding(Verdict.INCONCLUSIVE, why, unit="rate", n=len(now))
    reason, p = min(tests.items(), key=lambda one: one[1])
    p = min(1.0, len(tests) * p)
    adjusted = min(1.0, shares * p)
    verdict = judge(adjusted, beyond_lawful=True, detectable=math.inf, target=0.0)
    if verdict is Verdict.INCONCLUSIVE:
        reason += "; many runs together are judged by their streams"
    value = float(now.mean() - before.mean()) if len(before) else None
    base = float(before.mean()) if len(before) else None
    return Finding(verdict, reason, value, "rate", baseline=base, p=p, adjusted_p=adjusted, n=len(now))
