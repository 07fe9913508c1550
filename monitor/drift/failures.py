"""Rare failures, one-sided: does the endpoint fail more often, and is a defect seen for the first time a new one?

Which test fits what is compared:

- the same prompts on both sides: `more_failures`, Fisher's exact test stratified by prompt. Repeats of one prompt fail
  together, and one table over all of them would count each as a failure of its own.
- other prompts on either side, each asked once: `boschloo`. It rejects all that Fisher's test rejects and more, at the
  same level (Boschloo 1970), which Barnard's does not always; where failures are rare Fisher's loses most.
- a defect that the baseline never showed: `fisher`, of so few sightings that power is no matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from monitor.drift.observation import FloatArray
from monitor.drift.resplit import SMALLEST_P, Deals, hypergeometric, upper_tail
from monitor.drift.stages import SCREEN_P
from monitor.drift.trigger import Paired

# How many probes of the failing kind decide whether a new defect is there to stay.
TARGETED_PROBES = 40


def more_failures(failures: Paired) -> float:
    """Exact p of the endpoint's failures being chance, given how many each prompt had on both sides together.

    Fisher's test within every prompt, summed over prompts (Mantel and Haenszel's test, made exact; Gart 1970).
    1 where nothing failed.
    """
    columns = (failures.x, failures.r_x, failures.x + failures.y, failures.r_y)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    observed, deals = 0, []
    for x, r_x, failed, r_y in rows:
        least, dealt = _counts(failed, r_x, r_y)
        observed += x - least
        deals.append(dealt)
    return upper_tail(observed, deals) if deals else 1.0


@lru_cache(maxsize=4_096)
def _counts(failed: int, r_x: int, r_y: int) -> tuple[int, Deals]:
    """The fewest failures that can fall to the endpoint, and the deals of that many, one more, …"""
    least, chances = hypergeometric(failed, r_x, r_y)
    return least, Deals(np.arange(chances.size), chances)


def fisher(failed: int, of: int, failed_before: int, of_before: int) -> float:
    """Fisher's one-sided exact p for more failures than before, of independent answers."""
    return more_failures(Paired.of([failed], [of], [failed_before], [of_before]))


def boschloo(failed: int, of: int, failed_before: int, of_before: int) -> float:
    """Boschloo's one-sided exact p for more failures than before, of independent answers; never above `fisher`.

    The chance of a table at least as extreme by Fisher's p, at the rate that makes it largest. Given the failures t of
    both sides the chance to reject is a number A(t), so only Σ_t Bin(t; N, π) A(t) has to be looked at along π.
    """
    from scipy.special import gammaln

    both = of + of_before
    seen = fisher(failed, of, failed_before, of_before) * (1.0 + 1e-9)
    rejected = np.array([_largest_tail_within(seen, total, of, of_before) for total in range(both + 1)])

    def chance(rates: FloatArray) -> FloatArray:
        total = np.arange(both + 1)
        choose = gammaln(both + 1) - gammaln(total + 1) - gammaln(both - total + 1)
        logs = choose + total * np.log(rates[:, np.newaxis]) + (both - total) * np.log1p(-rates[:, np.newaxis])
        return np.asarray(np.exp(logs) @ rejected)

    # On the arcsine scale a binomial is as wide everywhere: 1 / (2 √N).
    steps = max(200, 16 * int(np.sqrt(both)))
    angles = np.pi / 2.0 * np.arange(1, steps) / steps
    worst = angles[int(chance(np.sin(angles) ** 2).argmax())]
    nearby = worst + np.pi / 2.0 / steps * np.linspace(-0.9, 0.9, 200)
    return float(np.clip(chance(np.sin(nearby) ** 2).max(), SMALLEST_P, 1.0))


def _largest_tail_within(p: float, failed: int, r_x: int, r_y: int) -> float:
    """The largest hypergeometric upper tail that is at most p; 0 where none is."""
    _, chances = hypergeometric(failed, r_x, r_y)
    tails = np.cumsum(chances[::-1])
    within = tails[tails <= p]
    return float(within[-1]) if within.size else 0.0


class Sighting(StrEnum):
    NONE = "none"
    NOTICE = "notice"  # told, and nothing more
    SCREEN_HIT = "screen_hit"  # to be confirmed by TARGETED_PROBES
    KNOWN = "known"  # seen in the baseline: a rate to compare, no new defect


@dataclass(frozen=True, slots=True)
class NewDefect:
    sighting: Sighting
    p: float


def new_defect(seen: int, answers: int, seen_before: int, answers_before: int) -> NewDefect:
    """A defect code that the baseline never showed: once is a notice, more a screen hit if the baseline is long enough
    for that to be rare (`fisher` ≤ the screen's p)."""
    p = fisher(seen, answers, seen_before, answers_before)
    if seen_before:
        return NewDefect(Sighting.KNOWN, p)
    if not seen:
        return NewDefect(Sighting.NONE, p)
    return NewDefect(Sighting.SCREEN_HIT if seen > 1 and p <= SCREEN_P else Sighting.NOTICE, p)
