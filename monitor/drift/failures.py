"""Rare failures, one-sided: does the endpoint fail more often, to the same prompts?

Fisher's exact test is stratified by prompt: repeats of one prompt fail together, and one table over all of them would
count each as a failure of its own.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from monitor.drift.resplit import Deals, hypergeometric, upper_tail
from monitor.drift.trigger import Paired


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
