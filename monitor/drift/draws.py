"""One-token answers drawn at temperature 1, each with the distribution that the endpoint says it was drawn from.

Only the most likely tokens are listed; all others are one cell, the rest. The cells of a draw must follow from its
distribution alone and never from the token that came, or ratios of chances lose their mean of 1. Some servers list a
drawn token that is not among the likeliest after them, or in place of the last one. Of `k` that are listed the k − 1
likeliest are then the same whichever token came; but the last of these may be as likely as the one that was replaced.
So the tokens that are likelier than it are cells, k − 2 or fewer, and all others are the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from monitor.drift.observation import BoolArray, FloatArray
from monitor.drift.resplit import IntArray

NOT_LISTED = -1
# Largest error of a reported log-probability, nat: of one that is printed with four decimals, or of a float32 sum.
ROUNDING = 1e-4
_LEAST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """n draws of several prompts, in the order in which they were asked.

    logprobs: of the listed tokens in any order, nat, [n, width], nan past a list's end.
    drawn: the column of the token that came, `NOT_LISTED` where it is not in the list; [n].
    ids: equal where the same token came; [n].
    prompts: equal where the same prompt was asked; [n].
    k: how many are listed with every draw, as found at enrolment; one more may be, where that is the drawn one.
    rounding: the largest error of a reported log-probability that is lawful, nat.
    seen: which listed tokens the prompt holds, [n, width]; None where nobody looked.
    """

    logprobs: FloatArray
    drawn: IntArray
    ids: IntArray
    prompts: IntArray
    k: int
    rounding: float = ROUNDING
    seen: BoolArray | None = None

    def __post_init__(self) -> None:
        n, width = self.logprobs.shape
        if not all(array.shape == (n,) for array in (self.drawn, self.ids, self.prompts)):
            raise ValueError(f"{n} draws need one drawn token, one id and one prompt each")
        if not 3 <= self.k <= width:
            raise ValueError(f"with every draw 3 to {width} are listed, as there are {width} columns, and not {self.k}")
        if not 0.0 <= self.rounding < 1.0:
            raise ValueError(f"a lawful error of a log-probability is in [0, 1) nat, and this is {self.rounding}")

    def __len__(self) -> int:
        return len(self.drawn)

    @property
    def why_not(self) -> str | None:
        """Why nothing can be said by these draws' distributions; None where something can."""
        if not len(self):
            return "no draws"
        listed = (~np.isnan(self.logprobs)).sum(axis=1)
        if (listed < self.k).any():
            return f"{int((listed < self.k).sum())} of {len(self)} draws list fewer than {self.k} log-probabilities"
        most = float(np.exp(np.nan_to_num(self.logprobs, nan=-np.inf)).sum(axis=1).max())
        if not most <= np.exp(self.rounding) + _LEAST:
            return f"the listed probabilities of a draw add up to {most:.4f}"
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """p: the stated chances of the likeliest tokens, falling, and of the rest, [n, k - 1]; they sum to 1. most: upper
    bounds on the true chances, where the stated ones have an error of `rounding` at most. came: the cell that came,
    [n]. seen: as in `Draws`; the rest is never."""

    p: FloatArray
    most: FloatArray
    came: IntArray
    seen: BoolArray

    @classmethod
    def of(cls, draws: Draws) -> Self:
        """Of draws that have no `why_not`."""
        logprobs = np.nan_to_num(draws.logprobs, nan=-np.inf)
        order = np.argsort(-logprobs, axis=1, kind="stable")
        ranked = np.take_along_axis(logprobs, order, axis=1)
        rest = draws.k - 2
        kept = ranked[:, :rest] > ranked[:, rest:][:, :1]
        listed = np.where(kept, np.exp(ranked[:, :rest]), 0.0)
        place = np.argmax(order == draws.drawn[:, np.newaxis], axis=1)
        of_list = (draws.drawn != NOT_LISTED) & (place < rest)
        of_list &= kept[np.arange(len(draws)), np.minimum(place, rest - 1)]
        seen = np.zeros((len(draws), rest + 1), dtype=np.bool_)
        if draws.seen is not None:
            seen[:, :rest] = np.take_along_axis(draws.seen, order, axis=1)[:, :rest] & kept
        came = np.where(of_list, place, rest)
        return cls(_stated(listed), _bounds(listed, draws.rounding), came, seen)

    @property
    def rest(self) -> FloatArray:
        return self.p[:, -1]

    @property
    def most_of_a_token(self) -> FloatArray:
        """Upper bounds on the chance of any one token of each cell, in the shape of `p`: one of the rest is no likelier
        than the least of those that are not."""
        least = np.where(self.p[:, :-1] > 0.0, self.most[:, :-1], np.inf).min(axis=1)
        return np.column_stack([self.most[:, :-1], np.minimum(least, self.most[:, -1])])

    @property
    def most_of_drawn(self) -> FloatArray:
        """The same of the very token that came, [n]."""
        return of_came(self.most_of_a_token, self.came)


def of_came(values: FloatArray, came: IntArray) -> FloatArray:
    """[n] of [n, cells]."""
    return np.asarray(np.take_along_axis(values, came[:, np.newaxis], axis=1)[:, 0])


def _stated(listed: FloatArray) -> FloatArray:
    total = listed.sum(axis=1, keepdims=True)
    return np.concatenate([listed / np.maximum(total, 1.0), np.maximum(1.0 - total, 0.0)], axis=1)


def _bounds(listed: FloatArray, rounding: float) -> FloatArray:
    """exp(l + ε), and for the rest one less the sum of exp(l − ε)."""
    rest = 1.0 - listed.sum(axis=1, keepdims=True) * np.exp(-rounding)
    return np.asarray(np.clip(np.concatenate([listed * np.exp(rounding), rest], axis=1), _LEAST, 1.0))
