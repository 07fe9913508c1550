"""A run's draws (T4): which test of the sampler an endpoint can be given by what its baseline shows, what that finds of
this run, and what streams are told.

What the endpoint says of its draws is exact evidence where it gives log-probabilities from before the sampler and its
baseline draws as it says. A sampler that does otherwise from the beginning is a property and no drift: from then on
draws are held against those of the baseline. A run by itself seldom proves more than a gross change; rounds add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift import collisions, sampler
from monitor.drift.draws import NOT_LISTED, Draws
from monitor.drift.evidence import Evidence, Factors, Inapplicable, StreamKey, Tier
from monitor.drift.findings import Finding
from monitor.drift.observation import Observation
from monitor.drift.request_temperature import LogprobsMode, Pair, logprobs_mode, of_factors
from monitor.drift.rule import Verdict, judge
from monitor.drift.sampler_choice import SamplerTest, sampler_test
from monitor.drift.sampler_past import FEWEST, enrolled, of_past

# Draws of a baseline before streams are told anything: so many show a temperature of 0.7, or a list of 50, of its own.
LEAST_DRAWS = 400
# From here on a baseline's draws are taken not to be as the endpoint says. Lower than what proves it: what the model's
# defaults do weakly would else be called drift once it has added up.
DOUBTED_AT = 20.0
DRAWS, COPIES, FACTORS = "draws", "copies", "factors"
_DRAWN, _COOLED = "draw-", "cool-"
_FEWEST_LISTED = 3


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a run's draws are found to be, and what streams are told."""

    finding: Finding
    evidence: tuple[Evidence, ...]


def assess_sampling(
    endpoint: str,
    new: Sequence[Observation],
    baseline: Sequence[Observation],
    temperatures: tuple[float, float],
    *,
    no_past: str,
    shares: int = 1,
) -> Sampling:
    """baseline: the observations of its runs; temperatures: of draws, and of those beside them; no_past: why there is
    no baseline, where there is none; shares: of the check's error. Evidence has no time yet: that is the run's."""
    if not baseline:
        return Sampling(Finding(Verdict.INCONCLUSIVE, no_past, n=len(new)), ())
    k = _listed(baseline)
    if k < _FEWEST_LISTED:
        why = "answers list too few log-probabilities to tell what a token was drawn from"
        return _inapplicable(endpoint, why, len(new))
    before, now = draws_of(baseline, k), draws_of(new, k)
    mode = _mode(baseline, temperatures)
    doubted = _doubted(before)
    test = sampler_test(mode, doubted, has_reference=False)
    if isinstance(test, Inapplicable):
        return _inapplicable(endpoint, test.reason, len(new))
    ready = len(before) >= LEAST_DRAWS
    waits = f"{len(before)} of {LEAST_DRAWS} draws of a baseline"
    key = StreamKey(endpoint, Tier.SAMPLING, DRAWS)
    copies = collisions.of_collisions(key._replace(probe_set=COPIES), 0.0, now)
    match test:
        case SamplerTest.STATED:
            stated = sampler.of_sampler(key, 0.0, now)
            found = _of_run((stated, copies), len(now), "" if ready else waits, shares)
            return Sampling(found, _if(ready, stated, copies))
        case SamplerTest.PAST:
            moved = of_past(key, 0.0, now, enrolled(before)) if _each_enough(before) else ()
            fits = doubted.alternative if doubted is not None else "another sampler"
            why = f"since enrolment draws fit {fits} better than what is said of them: that shows over days"
            return Sampling(_of_run((copies,), len(now), why, shares), _if(ready, *moved, copies))
        case SamplerTest.FACTORS:
            factors = of_factors(key._replace(probe_set=FACTORS), 0.0, _pairs(new, temperatures))
            why = "log-probabilities are those after the sampler, which always agree with the draws"
            return Sampling(Finding(Verdict.INCONCLUSIVE, why, n=len(new)), _if(ready, factors))


def draws_of(observations: Iterable[Observation], k: int) -> Draws:
    """Those of temperature 1 of which the token that came is known. k: how many are listed with every one."""
    kept = [one for one in observations if one.item_key.startswith(_DRAWN) and one.sampled is not None and one.tokens]
    width = max([k, *(len(one.tokens) for one in kept)])
    logprobs = np.full((len(kept), width), np.nan)
    for row, one in enumerate(kept):
        logprobs[row, : len(one.tokens)] = one.logprobs
    drawn = [one.tokens.index(one.sampled) if one.sampled in one.tokens else NOT_LISTED for one in kept]
    names: dict[bytes, int] = {}
    ids = [names.setdefault(one.sampled or b"", len(names)) for one in kept]
    prompts = [int(one.item_key.removeprefix(_DRAWN), 16) for one in kept]
    columns, tokens, asked = (np.array(each, dtype=np.int64) for each in (drawn, ids, prompts))
    return Draws(logprobs, columns, tokens, asked, k)


def _listed(observations: Iterable[Observation]) -> int:
    """How many are listed with every draw. One answer in twenty may lack what others have: it is then left out of what
    draws can say."""
    counts = [len(one.tokens) for one in observations if one.item_key.startswith(_DRAWN)]
    return int(np.quantile(counts, 0.05, method="lower")) if counts else 0


def _mode(observations: Sequence[Observation], temperatures: tuple[float, float]) -> LogprobsMode | None:
    """None where no answer brought log-probabilities."""
    if not any(one.tokens for one in observations):
        return None
    pairs = _pairs(observations, temperatures)
    return logprobs_mode(pairs) if pairs else LogprobsMode.UNCLEAR


def _pairs(observations: Sequence[Observation], temperatures: tuple[float, float]) -> list[Pair]:
    """Of each question the mean values of the tokens that both temperatures list."""
    found = []
    cooled = {one.item_key for one in observations if one.item_key.startswith(_COOLED)}
    for name in sorted(key.removeprefix(_COOLED) for key in cooled):
        warm, cool = (_means(observations, f"{kind}{name}") for kind in (_DRAWN, _COOLED))
        both = sorted(warm.keys() & cool.keys())
        if both:
            one, other = (np.array([side[token] for token in both]) for side in (warm, cool))
            found.append(Pair(one, other, temperatures))
    return found


def _means(observations: Iterable[Observation], key: str) -> dict[bytes, float]:
    values: dict[bytes, list[float]] = {}
    for one in observations:
        if one.item_key == key:
            for token, value in zip(one.tokens, one.logprobs.tolist(), strict=True):
                values.setdefault(token, []).append(value)
    return {token: float(np.mean(seen)) for token, seen in values.items()}


def _doubted(before: Draws) -> sampler.Fired | None:
    said = sampler.of_sampler(StreamKey("", Tier.SAMPLING, DRAWS), 0.0, before).says
    if not isinstance(said, Factors):
        return None
    best = sampler.ALTERNATIVES[int(np.argmax(said.factors))].name
    return sampler.Fired(best, said.average) if said.average >= DOUBTED_AT else None


def _each_enough(before: Draws) -> bool:
    return bool(np.unique(before.prompts, return_counts=True)[1].min(initial=FEWEST) >= FEWEST) and len(before) > 0


def _of_run(evidence: Sequence[Evidence], n: int, why: str, shares: int) -> Finding:
    """E-values that share their answers, averaged: their mean is one, and 1 / E is a p-value (Vovk & Wang 2021)."""
    values = [one.says.average for one in evidence if isinstance(one.says, Factors)]
    if not values:
        reasons = [one.says.reason for one in evidence if isinstance(one.says, Inapplicable)]
        return Finding(Verdict.INAPPLICABLE, why or "; ".join(reasons), n=n)
    p = min(1.0, len(values) / sum(values)) if sum(values) > 0.0 else 1.0
    adjusted = min(1.0, shares * p)
    verdict = judge(adjusted, beyond_lawful=True, detectable=math.inf, target=0.0)
    if verdict is Verdict.INCONCLUSIVE:
        reason = why or f"{n} draws show a gross change alone; many runs together are judged by their streams"
    else:
        reason = "; ".join(reason for one in evidence for reason in one.reasons)
    return Finding(verdict, reason, unit="", p=p, adjusted_p=adjusted, n=n)


def _inapplicable(endpoint: str, why: str, n: int) -> Sampling:
    evidence = Evidence(StreamKey(endpoint, Tier.SAMPLING, DRAWS), 0.0, Inapplicable(why), n)
    return Sampling(Finding(Verdict.INAPPLICABLE, why, n=n), (evidence,))


def _if(ready: bool, *evidence: Evidence) -> tuple[Evidence, ...]:
    return evidence if ready else ()
