"""What the checks of one run saw, as sightings; None where a check says nothing, which is never "same"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist

import numpy as np

from monitor.drift.accounting import CountTest
from monitor.drift.evidence import Evidence, Factors
from monitor.drift.features import Feature
from monitor.drift.findings import Finding
from monitor.drift.greedy import MARGIN
from monitor.drift.interval import Interval
from monitor.drift.observation import Observation
from monitor.drift.rule import SUSPECT_P, Verdict
from monitor.drift.sampler import ALTERNATIVES
from monitor.drift.shift import ShiftTest
from monitor.drift.sightings import Sighting

# Counts are exact: what is suspected of them is seen, and what is neither that nor none at all is not known.
_MOVED_P = SUSPECT_P
# Log-odds against what counts say, as in `causes`.
_UNLIKELY = -12.0
# Which state of the sampler each of its alternatives speaks for.
_STATES = {"temperature": "temperature", "top_p": "top-p", "a short list": "top-k", "a penalty": "penalty"}
# Prompts answered more than once, before it is said whether repeats differ.
_REPEATED = 3


def of_counts(test: CountTest | None) -> Sighting | None:
    """Prompt token counts against the baseline's."""
    if test is None or test.p is None or test.moved is None:
        return None
    if test.p > _MOVED_P:
        return None if test.moved else Sighting.certain(Feature.COUNTS, "same")
    if not test.moved:
        return Sighting.certain(Feature.COUNTS, "varying", 0.9)
    moved = "more" if test.moved > 0 else "fewer"
    if test.offset is not None:
        return Sighting.certain(Feature.COUNTS, moved if test.constant else "varying")
    # Without a tokenizer of ours, a constant and a change from prompt to prompt look alike.
    against = dict.fromkeys(("same", "more", "fewer", "two"), _UNLIKELY)
    return Sighting.of(Feature.COUNTS, against | {moved: 0.0, "varying": 0.0})


def of_shift(test: ShiftTest | None, unit: float) -> Sighting | None:
    """First tokens' shift in nats against the baseline, by what int8 would make on the same prompts (`unit`, nats).
    Raises ValueError where the unit is not above 0."""
    if not 0.0 < unit < np.inf:
        raise ValueError(f"the shift of int8 is above 0 nats, not {unit}")
    if test is None or test.interval is None or not np.isfinite(test.shift):
        return None
    return Sighting.sized(Feature.FIRST_TOKENS, test.shift / unit, max(error_of(test.interval) / unit, 1e-6))


def of_move(finding: Finding) -> Sighting | None:
    """The same of a finding of log-probabilities, whose target is what int8 would make."""
    if finding.value is None or finding.interval is None or not finding.target:
        return None
    error = max(error_of(finding.interval) / finding.target, 1e-6)
    return Sighting.sized(Feature.FIRST_TOKENS, finding.value / finding.target, error)


def error_of(interval: Interval) -> float:
    """The standard error of a normal value with this interval."""
    return (interval.high - interval.low) / (2.0 * NormalDist().inv_cdf((1.0 + interval.level) / 2.0))


def of_repeats(new: Sequence[Observation], baseline: Sequence[Observation]) -> Sighting | None:
    """Whether answers to one prompt still differ; of an endpoint that always answers alike it says nothing."""
    now, before = _all_alike(new), _all_alike(baseline)
    if now is None or before is None or before:
        return None
    return Sighting.certain(Feature.REPEATS, "none" if now else "same", 0.9)


def of_draws(evidence: Iterable[Evidence]) -> list[Sighting]:
    """Of a run's draws: of the sampler what each alternative has for itself, beside 0 for as asked; and of copies."""
    found = []
    for one in evidence:
        if one.stream.probe_set == "draws" and isinstance(one.says, Factors):
            found.append(Sighting.of(Feature.SAMPLER, _of_states(one.says.factors)))
        if one.stream.probe_set == "copies" and isinstance(one.says, Factors):
            found.append(Sighting.tested(Feature.COLLISIONS, one.says.average))
    return found


def of_greedy(new: Sequence[Observation], baseline: Sequence[Observation]) -> Sighting | None:
    """The share of tokens that are not the reference's own, less that of the baseline, in percent."""
    (now, of_now), (before, of_before) = _mismatched(new), _mismatched(baseline)
    if not of_now or not of_before:
        return None
    error = np.hypot(np.sqrt(now + 1.0) / of_now, np.sqrt(before + 1.0) / of_before)
    return Sighting.sized(Feature.GREEDY, 100.0 * (now / of_now - before / of_before), 100.0 * float(error))


def of_test(feature: Feature, finding: Finding | None) -> Sighting | None:
    """Of a feature that is tested by a p-value: 1 / (2 √p) is an e-value (Vovk & Wang 2021)."""
    if finding is None or finding.adjusted_p is None:
        return None
    return Sighting.tested(feature, 0.5 / float(np.sqrt(max(finding.adjusted_p, 1e-300))))


def of_stack(finding: Finding | None) -> Sighting | None:
    """What the protocol says of the serving stack's habits."""
    if finding is None or finding.verdict not in (Verdict.OK, Verdict.SUSPECT, Verdict.DRIFT):
        return None
    return Sighting.certain(Feature.SURFACE, "same" if finding.verdict is Verdict.OK else "moved", 0.95)


def _all_alike(observations: Iterable[Observation]) -> bool | None:
    """None where too few prompts have two answers."""
    answers: defaultdict[str, list[bytes]] = defaultdict(list)
    for one in observations:
        if one.anchor and one.tokens:
            answers[one.item_key].append(one.logprobs.tobytes())
    repeated = [each for each in answers.values() if len(each) > 1]
    return None if len(repeated) < _REPEATED else all(len({*each}) == 1 for each in repeated)


def _of_states(factors: Sequence[float]) -> dict[str, float]:
    """Log of the mean factor of each state's alternatives, beside 0 for as asked."""
    states: defaultdict[str, list[float]] = defaultdict(list)
    for alternative, factor in zip(ALTERNATIVES, factors, strict=True):
        states[next(state for begins, state in _STATES.items() if alternative.name.startswith(begins))].append(factor)
    means: Mapping[str, float] = {state: sum(each) / len(each) for state, each in states.items()}
    return {"as-asked": 0.0} | {state: float(np.log(max(1e-300, mean))) for state, mean in means.items()}


def _mismatched(observations: Iterable[Observation]) -> tuple[int, int]:
    """Tokens that the reference would not have given, and all."""
    margins = [one.expected[MARGIN] for one in observations if MARGIN in one.expected]
    return sum(int((each > 0.0).sum()) for each in margins), sum(each.size for each in margins)
