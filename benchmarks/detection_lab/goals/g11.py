"""G11: the cause that is ranked first is the right one, of eight that are injected.

From the lab's stacks: prompt token counts, the shift and the likelihoods of first-token lists behind noise of 0.03 nat,
whether repeats differ, greedy mismatches, draws of the model's own distributions through a changed sampler, copies.
Simulated: the counts of malformed tool calls, by the shares of `benchmarks.simulated.causes`; and a cache as the first
answer again. Unseen: times, the surface, topics, triggers, streams beside their twins. A template is among the
candidates that the engine computes in six cases of ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab import seen
from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.goals import g6
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.goals.g5 import there, turned_over
from benchmarks.detection_lab.lawful import Lawful
from benchmarks.detection_lab.texts import Asked, Texts
from benchmarks.detection_lab.whole_distributions import near_entropy
from benchmarks.simulated.causes import INJECTED, right
from monitor.drift.accounting import CountTest
from monitor.drift.attribution import Attribution, attribute, suspects
from monitor.drift.broken_calls import log_factors
from monitor.drift.draws import Draws
from monitor.drift.features import Feature
from monitor.drift.ruler import UNIT, size_odds
from monitor.drift.run_sightings import of_counts, of_shift
from monitor.drift.shift import ShiftTest
from monitor.drift.sightings import Sighting

Floats = NDArray[np.float64]

NOISE = Lawful(0.03)
PROFILES = ("w8-channel", "fp8-e4m3", "nf4", "w4-g64")
TEMPLATE, LISTED_TEMPLATE, LISTED = "template", "template:listed", 0.6
PROMPTS, COUNTED, GREEDY, DRAWS, CALLS, LAWFUL_BROKEN = (
    32,
    8,
    Asked(prompts=10, tokens=60, temperature=0.0),
    125,
    100,
    0.02,
)
TIMES, QUICK_TIMES = 100, 20
LEAST = 0.9

# Which stack stands for each cause; the others leave the model as it is.
STACKS: Mapping[str, str] = {"template": TEMPLATE, "int8": "w8-channel", "int4": "w4-g64", "swap": "anew"}
SAMPLERS: Mapping[str, Sequence[g6.Sampler]] = {
    "temperature": [partial(g6.temperature, value=value) for value in (0.8, 0.9)],
    "top-p": [partial(g6.top_p, share=share) for share in (0.9, 0.95)],
}
CACHE = "cache"
_SUSPECTS = suspects(profiles=PROFILES, templates=(LISTED_TEMPLATE,))


def measure(lab: Lab) -> list[Figure]:
    times = QUICK_TIMES if lab.quick else TIMES
    endpoint, rng = Injecting.of(lab), np.random.default_rng((lab.seed, 11))
    found = {
        cause: Counter(name_of(cause, endpoint.attributed(cause, rng)) for _ in range(times)) for cause in INJECTED
    }
    right_shares = {cause: names[cause] / times for cause, names in found.items()}
    rows = [
        Figure(f"{cause} is taken for: {_told(names, times)}", right_shares[cause]) for cause, names in found.items()
    ]
    mean = float(np.mean(list(right_shares.values())))
    return [Figure(f"causes ranked first that are right, {len(found)} causes × {times}", mean, least=LEAST), *rows]


def name_of(cause: str, found: Attribution) -> str:
    return cause if right(cause, found) else found.best.cause.name


def _told(names: Counter[str], times: int) -> str:
    return ", ".join(f"{name} {count / times:.0%}" for name, count in names.most_common())


@dataclass(frozen=True, slots=True, eq=False)
class Injecting:
    """What is computed once: lists, greedy answers and counts by stack, and the distributions that are drawn from."""

    lists: seen.Lists
    greedy: Mapping[str, Texts]
    counts: Mapping[str, CountTest | None]
    drawn: Floats
    distances: Mapping[str, float]
    lawful_mismatches: float

    @classmethod
    def of(cls, lab: Lab) -> Injecting:
        lists = seen.Lists.of(lab.first, (*PROFILES, TEMPLATE, STACKS["swap"]), PROMPTS)
        names = (UNCHANGED.name, *STACKS.values())
        greedy = {name: lab.texts.get(CHANGES[name], GREEDY) for name in names}
        unchanged = greedy[UNCHANGED.name]
        return cls(
            lists,
            greedy,
            {name: seen.counted(CHANGES[name], COUNTED) for name in names},
            near_entropy(lab.first.folder, g6.ENTROPY, prompts=g6.PROMPTS),
            {name: distance for name, distance in lists.distances().items() if name in PROFILES},
            float(turned_over(unchanged.gaps[there(unchanged)]).mean()),
        )

    def attributed(self, cause: str, rng: np.random.Generator) -> Attribution:
        stack = STACKS.get(cause, UNCHANGED.name)
        shown = self.lists.candidates.get(stack, self.lists.unchanged)
        answers = 1 if cause == CACHE else seen.ANSWERS
        before = self.lists.observed(self.lists.unchanged, NOISE, rng, seen.ANSWERS)
        now = self.lists.observed(shown, NOISE, rng, answers) * (seen.ANSWERS // answers)
        test = seen.moved(before, now, int(rng.integers(2**31)))
        sightings = [
            of_counts(self.counts[stack]),
            of_shift(test, self.distances[UNIT]),
            seen.repeats(now),
            seen.greedy(self.greedy[stack], self.lawful_mismatches, rng),
            *seen.sampled(self._draws(cause, rng)),
            _calls(cause, rng),
        ]
        names = (*PROFILES, TEMPLATE) if rng.random() < LISTED else PROFILES
        gains = {LISTED_TEMPLATE if name == TEMPLATE else name: gain for name, gain in seen.gains(now, names).items()}
        known = test is not None and np.isfinite(test.shift)
        sizes = size_odds(test.shift, _error(test), self.distances) if test is not None and known else None
        return attribute([one for one in sightings if one is not None], _SUSPECTS, likelihoods=gains, sizes=sizes)

    def _draws(self, cause: str, rng: np.random.Generator) -> Draws:
        if cause == CACHE:
            return seen.copies_of(self.drawn, DRAWS, rng)
        by = SAMPLERS[cause][int(rng.integers(len(SAMPLERS[cause])))] if cause in SAMPLERS else lambda p: p
        return seen.draws_of(np.stack([by(each) for each in self.drawn]), self.drawn, DRAWS, rng)


def _error(test: ShiftTest) -> float:
    return 0.0 if test.interval is None else (test.interval.high - test.interval.low) / 4.0


def _calls(cause: str, rng: np.random.Generator) -> Sighting:
    broken = int(rng.binomial(CALLS, INJECTED[cause].malformed / 100.0))
    e_value = float(np.exp(log_factors(broken, CALLS, LAWFUL_BROKEN)).mean())
    return Sighting.tested(Feature.TOOL_FORM, e_value)
