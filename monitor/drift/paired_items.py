"""Eval items compared one by one: with the reference, or with the endpoint's own past."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from monitor.drift.rates import Rate, rate
from monitor.drift.resplit import Deals, upper_tail
from monitor.drift.ternary import Difference, difference
from monitor.drift.trigger import Paired

# Of each item, by its hash, whether each repeat's answer is right; None where it could not be graded.
Marks = Mapping[str, Sequence[bool | None]]


@dataclass(frozen=True, slots=True)
class PairedItems:
    """What the items say that both sides were asked.

    gained, lost: the items of which more answers are right on this side than on the other, and fewer; in the order of
    their hashes. p: exact and two-sided, of so many more or fewer right answers. here, there: shares of right answers
    among those compared; `here.excluded` and `there.excluded` count answers left out: `ungraded`, which their side
    could not grade, and `unpaired`, whose counterpart is missing or ungraded. difference: here minus there with its
    interval over items, None for fewer than two items. items: how many are compared; not_compared: how many of the
    others there are.
    """

    gained: tuple[str, ...]
    lost: tuple[str, ...]
    p: float
    here: Rate
    there: Rate
    difference: Difference | None
    items: int
    not_compared: int


def compare_items(here: Marks, *there: Marks) -> PairedItems | None:
    """`there` are the runs to compare with, or the one of the reference. Of each item as many graded repeats count as
    every run has that asked it; one that no other run was asked, because the suite has changed, is in no comparison.
    None where nothing can be compared.

    Where nothing changed, the runs of an item may change places, whatever its repeats within a run have in common: p is
    exact by that alone. Of one other run and one repeat it is McNemar's.
    """
    compared = {item: found for item in sorted(here) if (found := _right(item, here, there)) is not None}
    if not compared:
        return None
    ours, asked = [one.here for one in compared.values()], [one.of for one in compared.values()]
    theirs, asked_there = [sum(one.there) for one in compared.values()], [one.of_there for one in compared.values()]
    paired = Paired.of(ours, asked, theirs, asked_there)
    ahead = dict(zip(compared, (paired.x * paired.r_y - paired.y * paired.r_x).tolist(), strict=True))
    items = here.keys() | {item for run in there for item in run}
    return PairedItems(
        gained=tuple(item for item in compared if ahead[item] > 0),
        lost=tuple(item for item in compared if ahead[item] < 0),
        p=_two_sided(list(compared.values())),
        here=rate(sum(ours), sum(asked), excluded=_excluded([here], sum(asked))),
        there=rate(sum(theirs), sum(asked_there), excluded=_excluded(there, sum(asked_there))),
        difference=difference(paired),
        items=len(compared),
        not_compared=len(items) - len(compared),
    )


class _Right(NamedTuple):
    """Right answers to one item: `of` a run's repeats `here`, and in each of the other runs."""

    here: int
    there: tuple[int, ...]
    of: int

    @property
    def of_there(self) -> int:
        return self.of * len(self.there)


def _right(item: str, here: Marks, there: Sequence[Marks]) -> _Right | None:
    ours, *others = ([mark for mark in run.get(item, ()) if mark is not None] for run in (here, *there))
    asked = [marks for marks in others if marks]
    if not ours or not asked:
        return None
    of = min(map(len, (ours, *asked)))
    return _Right(sum(ours[:of]), tuple(sum(marks[:of]) for marks in asked), of)


def _two_sided(found: Sequence[_Right]) -> float:
    more = upper_tail(sum(one.here for one in found), [_dealt(one.here, *one.there) for one in found])
    wrong = [_Right(one.of - one.here, tuple(one.of - right for right in one.there), one.of) for one in found]
    fewer = upper_tail(sum(one.here for one in wrong), [_dealt(one.here, *one.there) for one in wrong])
    return min(1.0, 2.0 * min(more, fewer))


def _dealt(*right: int) -> Deals:
    return _any_of(tuple(sorted(right)))


@lru_cache(maxsize=4_096)
def _any_of(right: tuple[int, ...]) -> Deals:
    """Each of the runs may be the one that is compared."""
    values, times = np.unique(np.array(right, dtype=np.int64), return_counts=True)
    return Deals(values, times / len(right))


def _excluded(sides: Sequence[Marks], compared: int) -> dict[str, int]:
    marks = [mark for side in sides for marks in side.values() for mark in marks]
    ungraded = marks.count(None)
    counts = (("ungraded", ungraded), ("unpaired", len(marks) - ungraded - compared))
    return {name: count for name, count in counts if count}
