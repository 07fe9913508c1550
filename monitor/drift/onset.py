"""When a change began: from the rounds of an epoch that a stream's bets called drift, the likeliest first one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.drift.count_stream import Tally
from monitor.drift.score_stream import Round
from monitor.drift.sequential import BETS

if TYPE_CHECKING:
    from monitor.drift.observation import FloatArray

# Starts whose bets won within this factor of the best one's are as good an explanation: log 20.
_AS_GOOD = 3.0


@dataclass(frozen=True, slots=True)
class Onset:
    """Seconds since 1970. `first` is the likeliest first round of the change. It began after `after`, the last round
    before the earliest start that explains the rounds as well (None: it may have been there from the beginning), and
    not later than `until`, the latest such start. `detected` is when the proof was there. `won`: the log of what 1 has
    become that was staked at `first` on the bet that won most."""

    first: float
    after: float | None
    until: float
    detected: float
    won: float

    @property
    def credible(self) -> bool:
        """Whether it has won as much as starts may differ in that explain the rounds as well: in a lawful epoch the
        best one seldom has by a time that is not chosen for it."""
        return self.won >= _AS_GOOD


def onset(rounds: Sequence[Round], lawful: float) -> Onset | None:
    """rounds: those of the epoch up to the one that proved drift; lawful: the level bet against. None where no start
    has won anything.

    Staked whole at round j, a bet has won Π_{i ≥ j} eᵢ by now; argmax over j is the last zero of the log-CUSUM (Page
    1954). The bet is the one that won most.
    """
    if not rounds:
        return None
    # Here: who only reads what streams came to needs none of it.
    import numpy as np

    scores = np.array([one.score for one in rounds])
    excess = scores / lawful - 1.0
    return _best_start([one.at for one in rounds], np.log1p(np.array(BETS)[:, np.newaxis] * excess))


def count_onset(rounds: Sequence[Tally], lawful: float) -> Onset | None:
    """The same of counts: by the likelihood ratios of shares above the lawful one."""
    if not rounds:
        return None
    # Here: who only reads what streams came to needs none of it.
    from monitor.drift.broken_calls import log_factors

    _, bad, of = zip(*rounds, strict=True)
    return _best_start([one.at for one in rounds], log_factors(bad, of, lawful).T)


def _best_start(at: Sequence[float], logs: FloatArray) -> Onset | None:
    """logs: what each bet won of each round, [bets, rounds]."""
    import numpy as np

    # What each bet has won, by where it was staked; shape [bets, rounds].
    won = np.cumsum(logs[:, ::-1], axis=1)[:, ::-1]
    best = won[np.argmax(won.max(axis=1))]
    start = int(np.argmax(best))
    if best[start] <= 0.0:
        return None
    as_good = np.flatnonzero(best >= best[start] - min(_AS_GOOD, best[start]))
    earliest, latest = int(as_good[0]), int(as_good[-1])
    return Onset(
        first=at[start],
        after=at[earliest - 1] if earliest else None,
        until=at[latest],
        detected=at[-1],
        won=float(best[start]),
    )
