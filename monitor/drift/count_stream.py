"""A stream of counts as a value: its first rounds say which share is lawful, and every later one is bet on.

Every state is the fold of `after` over the rounds in the order they were added, so it can be computed anew from stored
evidence, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from monitor.drift.evidence import Counts
from monitor.drift.levels import DAY, Levels
from monitor.drift.sequential import Wealth

FEWEST_ROUNDS, FEWEST_DAYS, FEWEST_OF = 3, 3, 300
# Of a baseline that takes long to be one, the latest rounds; of cases that were bad, those that were so last.
_MOST_ROUNDS, _MOST_KNOWN = 300, 400


class Tally(NamedTuple):
    """What a round asked for the first time: when, in seconds since 1970, how many were bad (shares of one add up) and
    of how many."""

    at: float
    bad: float
    of: int


@dataclass(frozen=True, slots=True)
class CountStream:
    """The same cases are asked for a week, and some for ever: what was bad once is likely to be so again and counts no
    second time, and what was whole is likely to stay whole. So cases that are asked for the first time are bet on by
    themselves, and beside them, with half of the stake, those that were asked before and never were bad: that one of
    either is bad has a chance of at most the lawful share. The baseline is made of the former.

    `asked` is what the first round asked: rounds that ask something else count nothing. `past` holds the rounds until
    they say what is lawful; `lawful` is the share that they said, `wealth` what was won since by betting that more are
    bad. `unlawful`: why they say none. `known`: the cases that were bad.
    """

    horizon: int
    asked: str
    past: tuple[Tally, ...] = ()
    lawful: Levels | None = None
    wealth: Wealth | None = None
    unlawful: str | None = None
    known: tuple[str, ...] = ()
    last_at: float | None = None

    @classmethod
    def start(cls, says: Counts, horizon: int) -> Self:
        """Before its first round."""
        return cls(horizon, says.asked)

    @property
    def value(self) -> float:
        return 1.0 if self.wealth is None else self.wealth.value

    @property
    def waits_for(self) -> str:
        """What is missing of a baseline, in words; empty where nothing is."""
        if self.lawful is not None or self.unlawful is not None:
            return ""
        rounds, days, of = self._there()
        return f"{of} of {FEWEST_OF} new cases, {rounds} of {FEWEST_ROUNDS} rounds, {days} of {FEWEST_DAYS} days"

    def renewed(self) -> Self:
        """The next epoch with the same lawful share, or going on with the baseline that is not whole yet."""
        return replace(self, wealth=None if self.wealth is None else self._begun(len(self.wealth.bets)))

    def after(self, at: float, says: Counts) -> Self:
        """A round that is older than the last one, or has its time, counts nothing, nor does one of other questions."""
        if says.asked != self.asked or (self.last_at is not None and at <= self.last_at):
            return self
        bad = {case for case, _ in says.bad}
        known = (*(case for case in self.known if case not in bad), *(case for case, _ in says.bad))[-_MOST_KNOWN:]
        state = replace(self, last_at=at, known=known)
        if state.wealth is not None and state.lawful is not None:
            share = state.lawful.hourly
            factors = (*_factors(says.fresh_bad, says.fresh, share), *_factors(*self._turned(says), share))
            return replace(state, wealth=state.wealth.times(factors))
        if not says.fresh:
            return state
        past = (*self.past, Tally(at, says.fresh_bad, says.fresh))[-_MOST_ROUNDS:]
        return replace(state, past=past)._with_baseline()

    def _turned(self, says: Counts) -> tuple[float, int]:
        """Of cases that are not new and never were bad, an anchor's first time among them: how many are now, and of
        how many."""
        known = {*self.known}
        newly = [share for case, share in says.bad if case not in known]
        again = len(says.bad) - len(newly)
        return max(0.0, sum(newly) - says.fresh_bad), says.of - says.fresh - again

    def _with_baseline(self) -> Self:
        rounds, days, of = self._there()
        if rounds < FEWEST_ROUNDS or days < FEWEST_DAYS or of < FEWEST_OF:
            return self
        # Here: who only reads what streams came to needs none of it.
        from monitor.drift.broken_calls import MOST_LAWFUL, alternatives, lawful_of_rounds

        share = lawful_of_rounds([one.bad for one in self.past], [one.of for one in self.past])
        if share >= MOST_LAWFUL:
            return replace(self, unlawful=f"{share:.0%} bad is lawful, which leaves nothing to be worse")
        lawful = Levels(share, share, 0.0, days)
        return replace(self, past=(), lawful=lawful, unlawful=None, wealth=self._begun(2 * len(alternatives(share))))

    def _there(self) -> tuple[int, int, int]:
        """Rounds, days and cases."""
        return len(self.past), len({one.at // DAY for one in self.past}), sum(one.of for one in self.past)

    def _begun(self, bets: int) -> Wealth:
        return Wealth(self.horizon, (0.0,) * bets)


def _factors(bad: float, of: int, lawful: float) -> list[float]:
    import numpy as np

    from monitor.drift.broken_calls import log_factors

    factors: list[float] = np.exp(log_factors(bad, of, lawful)).tolist()
    return factors
