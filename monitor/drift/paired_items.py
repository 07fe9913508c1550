"""Eval items compared one by one: with the reference, or with the endpoint's own past."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.drift.rates import Rate, rate
from monitor.drift.ternary import Difference, difference
from monitor.drift.trigger import Paired
from monitor.drift.twins import twins_test

# Of each item, by its hash, whether each repeat's answer is right; None where it could not be graded.
Marks = Mapping[str, Sequence[bool | None]]


@dataclass(frozen=True, slots=True)
class PairedItems:
    """What the items say that both sides were asked.

    gained, lost: the items of which more answers are right on this side than on the other, and fewer; in the order of
    their hashes. p: McNemar's exact two-sided one of both counts. here, there: shares of right answers among those
    compared; `here.excluded` and `there.excluded` count answers left out: `ungraded`, which their side could not grade,
    and `unpaired`, whose counterpart is missing or ungraded. difference: here minus there with its interval over
    items, None for fewer than two items. items: how many are compared; not_compared: how many of the others there are.
    """

    gained: tuple[str, ...]
    lost: tuple[str, ...]
    p: float
    here: Rate
    there: Rate
    difference: Difference | None
    items: int
    not_compared: int


def compare_items(here: Marks, there: Marks) -> PairedItems | None:
    """Pair the repeats of each item in their order; what either side lacks or could not grade is left out of both.

    Of an item's paired answers it counts on which side more are right: with one repeat that is McNemar's test, and with
    several it is as exact, since where nothing differs the two sides of an item may change places. An item that one
    side was not asked, because the suite has changed, is in no comparison. None where nothing can be compared.
    """
    pairs = {item: _paired(here[item], there[item]) for item in sorted(here.keys() & there.keys())}
    compared = {item: found for item, found in pairs.items() if found}
    if not compared:
        return None
    right = {item: (sum(a for a, _ in found), sum(b for _, b in found)) for item, found in compared.items()}
    asked = [len(found) for found in compared.values()]
    ours, theirs = ([counts[side] for counts in right.values()] for side in (0, 1))
    gained = tuple(item for item, (a, b) in right.items() if a > b)
    lost = tuple(item for item, (a, b) in right.items() if a < b)
    return PairedItems(
        gained=gained,
        lost=lost,
        p=twins_test(len(gained), len(lost)),
        here=rate(sum(ours), sum(asked), excluded=_excluded(here, sum(asked))),
        there=rate(sum(theirs), sum(asked), excluded=_excluded(there, sum(asked))),
        difference=difference(Paired.of(ours, asked, theirs, asked)),
        items=len(compared),
        not_compared=len(here.keys() | there.keys()) - len(compared),
    )


def _paired(here: Sequence[bool | None], there: Sequence[bool | None]) -> list[tuple[bool, bool]]:
    return [(a, b) for a, b in zip(here, there, strict=False) if a is not None and b is not None]


def _excluded(side: Marks, compared: int) -> dict[str, int]:
    graded = sum(mark is not None for marks in side.values() for mark in marks)
    ungraded = sum(mark is None for marks in side.values() for mark in marks)
    return {name: count for name, count in (("ungraded", ungraded), ("unpaired", graded - compared)) if count}
