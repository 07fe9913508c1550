"""Answers of many tokens, in the form in which whole answers are compared (DETECTION.md §2.3, T5): canonical.

Whitespace at either end of a text is stripped, and the text is cut into the reference's tokens anew, on both sides
alike. An endpoint that strips a leading space then gives the tokens that one gives which does not, and how it cut its
text itself plays no part. All that is computed of an answer is computed of these tokens: the same function of a text
on both sides, so that texts which are drawn alike have values which are distributed alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from monitor.drift.greedy_divergence import NO_TOKEN
from monitor.drift.observation import BoolArray, FloatArray
from monitor.drift.resplit import IntArray

Encode = Callable[[str], Sequence[int]]
# Sums of the same values in arrays of other widths differ by less, and ties have to stay ties.
_DECIMALS = 9


class Cut(NamedTuple):
    """Texts in the reference's tokens, [answers, tokens] each, `NO_TOKEN` past the end."""

    canonical: IntArray
    as_came: IntArray


def cut(texts: Sequence[str], encode: Encode) -> Cut:
    """encode: of the reference's tokenizer, without special tokens."""
    return Cut(padded([encode(text.strip()) for text in texts]), padded([encode(text) for text in texts]))


def padded(rows: Sequence[Sequence[int]]) -> IntArray:
    """[rows, longest], `NO_TOKEN` past the end of each."""
    ids = np.full((len(rows), max(map(len, rows), default=0)), NO_TOKEN, dtype=np.int64)
    for place, row in zip(ids, rows, strict=True):
        place[: len(row)] = row
    return ids


def joined(one: IntArray, other: IntArray) -> IntArray:
    """Rows of the one, then of the other, of as many tokens as the wider has."""
    width = max(one.shape[1], other.shape[1])
    sides = (np.pad(side, ((0, 0), (0, width - side.shape[1])), constant_values=NO_TOKEN) for side in (one, other))
    return np.concatenate(list(sides))


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """n answers of one side, drawn at the same setting, in the order in which they were asked.

    prompts: equal where the same prompt was asked; [n].
    ids: canonical tokens, `NO_TOKEN` past an answer's end; [n, tokens].
    logprobs, ranks: of each of these tokens under the reference, after the prompt and the tokens before: nat, and its
        place among all tokens, 0 for the most likely; anything past the end; as `ids`.
    as_came: tokens of the text with the whitespace that it came with; [n, any].
    stated: how many tokens the side says that it gave, [n]; None where it does not say.
    """

    prompts: IntArray
    ids: IntArray
    logprobs: FloatArray
    ranks: IntArray
    as_came: IntArray
    stated: IntArray | None = None

    def __post_init__(self) -> None:
        n = len(self.ids)
        if not self.ids.shape == self.logprobs.shape == self.ranks.shape:
            shapes = (self.ids.shape, self.logprobs.shape, self.ranks.shape)
            raise ValueError(f"tokens need one log-probability and one rank each, and shapes are {shapes}")
        rows = (len(self.prompts), len(self.as_came), n if self.stated is None else len(self.stated))
        if rows != (n, n, n):
            raise ValueError(f"{n} answers need one prompt, one text as it came and one count each, and have {rows}")
        if (self.there[:, 1:] > self.there[:, :-1]).any():
            raise ValueError(f"an answer goes on after its end: {NO_TOKEN} stands past the last token only")
        if not (self.logprobs[self.there] <= 0.0).all():
            raise ValueError("a token's log-probability under the reference is 0 nat at most: score every token")
        if (self.ranks[self.there] < 0).any():
            raise ValueError("a token's rank under the reference is 0 or more: rank every token")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def there(self) -> BoolArray:
        return np.asarray(self.ids != NO_TOKEN)

    @property
    def empty(self) -> BoolArray:
        """[n]: nothing but whitespace."""
        return np.asarray(~self.there.any(axis=1))

    @property
    def log_rank(self) -> FloatArray:
        """RUT's score, [n]: the mean of log(1 + rank) over tokens (Zhu et al. 2026); 0 of an empty answer."""
        return self._mean(np.log1p(np.maximum(self.ranks, 0)))

    @property
    def nll(self) -> FloatArray:
        """Negative log-probability, nat a token, [n]; 0 of an empty answer."""
        return self._mean(-self.logprobs)

    @property
    def cut_otherwise(self) -> BoolArray | None:
        """Of which answers the side counts other tokens than we do, [n]; it may count an end-of-text token."""
        if self.stated is None:
            return None
        ours = (self.as_came != NO_TOKEN).sum(axis=1)
        return np.asarray((self.stated != ours) & (self.stated != ours + 1))

    def _mean(self, values: FloatArray) -> FloatArray:
        tokens = np.maximum(self.there.sum(axis=1), 1)
        return np.asarray(np.round(np.where(self.there, values, 0.0).sum(axis=1) / tokens, _DECIMALS))


@dataclass(frozen=True, slots=True)
class Sides:
    """The endpoint's answers, and the reference's to the same prompts, drawn at the same setting for this round and
    used in no other. What either has of prompts that the other was not asked is left out of every comparison."""

    endpoint: Answers
    reference: Answers
