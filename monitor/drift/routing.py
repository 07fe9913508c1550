"""Did a balancer's shares change, did a stack come or go? Rounds against the enrolled stacks, looked at any time.

The null of each claim is that a share's mean, given all rounds before, is at most its lawful one: answers of one round
may all come of one stack. Each claim is an e-process (`sequential`), so P(it is ever made within an epoch in which its
null holds) ≤ 1 / `PROVEN`. Nothing is kept but rounds: what is said of them is computed from them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.decision import DRIFT_AT
from monitor.drift.fleet import SHARE_DELTA, Fleet, RoundShares
from monitor.drift.mixtures import number
from monitor.drift.observation import FloatArray
from monitor.drift.onset import Onset, onset
from monitor.drift.paths import mean_paths
from monitor.drift.rates import Rate, clustered_rate
from monitor.drift.score_stream import Round

PROVEN = DRIFT_AT
# Of a stack that still answers so many rounds would all be without it once in a hundred times.
_GONE = 0.01
_ORDINALS = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class Moved:
    """A share that is proven to be more than it may be. now: since the likeliest first round of `onset`."""

    onset: Onset
    now: Rate


@dataclass(frozen=True, slots=True)
class Tracked:
    """What rounds said of the enrolled stacks. routing: the stack that answers more than it may, and how much;
    new_backend: the share of answers that are far from all of them; vanished: stacks that no longer answer.

    The e-values are the last ones, and a claim that was made stays.
    """

    enrolled: tuple[float, ...]
    routing_e: float
    new_e: float
    routing: tuple[int, Moved] | None
    new_backend: Moved | None
    vanished: tuple[int, ...]

    def said(self, when: Callable[[float], str]) -> str:
        """In the words that a provider is told; `when` writes seconds since 1970."""
        parts = [f"{_stacks(self.enrolled)} when enrolled"]
        if self.routing is not None:
            stack, moved = self.routing
            parts.append(
                f"routing: the {_ORDINALS[stack]} answered {_percent(moved.now)} since {when(moved.onset.first)}"
            )
        if self.new_backend is not None:
            moved = self.new_backend
            what = f"{_percent(moved.now)} of the answers since {when(moved.onset.first)} are like none of them"
            parts.append(f"new backend: {what}")
        if self.vanished:
            gone = "none of them answers" if len(self.vanished) == len(self.enrolled) else _gone(self.vanished)
            parts.append(f"{gone} any more")
        if len(parts) == 1:
            return f"{parts[0]}; consistent with that since"
        return f"{'; '.join(parts)}: inconsistent with its own history"


def tracked(fleet: Fleet, rounds: Sequence[RoundShares], *, horizon: int) -> Tracked:
    """rounds: those of the epoch so far, in their order; horizon: how many it will have."""
    telling = [one for one in rounds if one.telling]
    shares = np.array([one.told for one in telling], dtype=np.float64).reshape(-1, len(fleet.shares)).T
    shares /= np.array([one.telling for one in telling])
    of_stacks = _paths(shares, fleet.lawful, horizon)
    heard = [one for one in rounds if one.answers]
    far = np.array([[one.far / one.answers for one in heard]])
    of_far = _paths(far, (fleet.far,), horizon)[0]
    routed, routing = of_stacks.mean(axis=0), None
    if (proven := _first(routed)) is not None:
        k = int(np.argmax(of_stacks[:, proven]))
        counts = [(one.told[k], one.telling) for one in telling]
        if (moved := _moved(telling, counts, fleet.lawful[k], proven)) is not None:
            routing = k, moved
    came = None
    if (proven := _first(of_far)) is not None:
        came = _moved(heard, [(one.far, one.answers) for one in heard], fleet.far, proven)
    begun = [one.onset.first for one in (routing[1] if routing else None, came) if one is not None]
    gone = _vanished(fleet, [one for one in heard if one.at >= max(begun)]) if begun else ()
    return Tracked(fleet.shares, _last(routed), _last(of_far), routing, came, gone)


def _paths(scores: FloatArray, lawful: Sequence[float], horizon: int) -> FloatArray:
    return mean_paths(scores, np.array(lawful), horizon) if scores.size else scores


def _first(path: FloatArray) -> int | None:
    reached = np.flatnonzero(path >= PROVEN)
    return int(reached[0]) if reached.size else None


def _last(path: FloatArray) -> float:
    return float(path[-1]) if path.size else 1.0


def _moved(
    rounds: Sequence[RoundShares], counts: Sequence[tuple[int, int]], lawful: float, proven: int
) -> Moved | None:
    """Dated by the rounds up to the proof, its share told of all since. Rounds are clusters: a balancer may give one of
    them whole to one stack."""
    scores = [Round(one.at, some / of) for one, (some, of) in zip(rounds, counts, strict=True)]
    began = onset(scores[: proven + 1], lawful)
    if began is None:
        return None
    since = np.array([pair for one, pair in zip(rounds, counts, strict=True) if one.at >= began.first])
    return Moved(began, clustered_rate(since[:, 0], since[:, 1]))


def _vanished(fleet: Fleet, since: Sequence[RoundShares]) -> tuple[int, ...]:
    """Stacks of which there was no answer in rounds enough, taking each for one trial."""
    silent = [not sum(one.told[k] for one in since) for k in range(len(fleet.shares))]
    chance = [(1.0 - max(0.0, least - SHARE_DELTA)) ** len(since) for least in fleet.least]
    return tuple(k for k, quiet in enumerate(silent) if quiet and chance[k] <= _GONE)


def _percent(rate: Rate) -> str:
    return f"{rate.value or 0.0:.0%} ({rate.low or 0.0:.0%}–{rate.high or 0.0:.0%})"


def _stacks(shares: Sequence[float]) -> str:
    if len(shares) == 1:
        return "one stack"
    *others, last = (f"{share:.0%}" for share in shares)
    return f"{number(len(shares))} stacks, {', '.join(others)} and {last},"


def _gone(stacks: Sequence[int]) -> str:
    return " and ".join(f"the {_ORDINALS[k]}" for k in stacks) + (
        " does not answer" if len(stacks) == 1 else " do not answer"
    )
