"""One answer's listed log-probabilities, and what they say of a fixed set of tokens.

A token that is not listed is at most as likely as the list's last one (ADR 2). It counts where that contradicts what
was expected, and by as much as it does; nothing is put in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from monitor.drift.observation import FloatArray, Observation
from probes.logprobs import FLOOR
from probes.wire.token_logprobs import CENSORED_FROM, INVALID_ABOVE


class Usable(NamedTuple):
    """Tokens and their log-probabilities in nats, likeliest first; and those that were listed without a usable one."""

    values: tuple[tuple[bytes, float], ...]
    dropped: tuple[bytes, ...]

    @property
    def listed(self) -> int:
        return len(self.values) + len(self.dropped)


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The alternatives that one answer to `prompt` listed for its first token, as they came: bytes, and
    log-probabilities in nats, shape [tokens]; both empty where it brought none. `at`: seconds since 1970."""

    prompt: str
    at: float
    tokens: tuple[bytes, ...]
    logprobs: FloatArray

    def __post_init__(self) -> None:
        if self.logprobs.shape != (len(self.tokens),):
            raise ValueError(f"{len(self.tokens)} tokens have log-probabilities of shape {self.logprobs.shape}")

    @classmethod
    def of(cls, observation: Observation, at: float) -> Self:
        return cls(observation.item_key, at, observation.tokens, observation.logprobs)

    @property
    def usable(self) -> Usable:
        """What stands for no value is dropped (−9999, −∞, the smallest float, NaN, positive ones); values are −40 at
        least. Of tokens with the same bytes the first one stands."""
        kept: dict[bytes, float] = {}
        for token, value in zip(self.tokens, self.logprobs.tolist(), strict=True):
            if CENSORED_FROM < value <= INVALID_ABOVE:
                kept.setdefault(token, FLOOR if value < FLOOR else min(0.0, value))
        values = tuple(sorted(kept.items(), key=lambda one: (-one[1], one[0])))
        dropped = sorted(set(self.tokens) - kept.keys()) if len(kept) < len(self.tokens) else ()
        return Usable(values, tuple(dropped))


class TokenSet(NamedTuple):
    """Tokens in a fixed order, likeliest first, and how many alternatives lists of them have."""

    tokens: tuple[bytes, ...]
    listed: int


class Bounds(NamedTuple):
    """Between what the values lie, in nats, shapes [answers, tokens]; they meet where a value is known. NaN: not to be
    compared."""

    low: FloatArray
    high: FloatArray

    @property
    def known(self) -> FloatArray:
        """The values that are known, NaN for the others."""
        return np.where(self.low == self.high, self.low, np.nan)


def bounds(lists: Sequence[Usable], of: Sequence[TokenSet], width: int) -> Bounds:
    """What each list, with a value at least, says of its token set; `width` tokens wide, NaN beyond those of a set.

    A list is cut to the k largest. Of a list that is shorter so many tokens are compared as it has: what a distance is
    cannot then depend on how many alternatives are listed. A token that is listed without a value is not compared.
    """
    places = {one: {token: place for place, token in enumerate(one.tokens)} for one in set(of)}
    low, high = [], []
    for usable, one in zip(lists, of, strict=True):
        cut = usable.values[: one.listed]
        size = min(usable.listed, one.listed, len(one.tokens))
        least, most, beyond = [-np.inf] * size, [cut[-1][1]] * size, [np.nan] * (width - size)
        for token, value in (*cut, *((token, np.nan) for token in usable.dropped)):
            if (place := places[one].get(token, size)) < size:
                least[place] = most[place] = value
        low.append(least + beyond)
        high.append(most + beyond)
    return Bounds(np.array(low).reshape(-1, width), np.array(high).reshape(-1, width))


def log_odds(found: Bounds) -> Bounds:
    """The same of the log-odds of every other token against the first, shapes [answers, tokens − 1]: what is added to
    all log-probabilities of an answer, as another normaliser does, drops out."""
    return Bounds(found.low[:, 1:] - found.high[:, :1], found.high[:, 1:] - found.low[:, :1])


def residuals(found: Bounds, expected: FloatArray) -> FloatArray:
    """By how much what was found contradicts what was expected, [tokens] or [answers, tokens], in nats, shape [answers,
    tokens]; NaN where it says nothing of it."""
    below, above = found.low - expected, found.high - expected
    contradicted = np.where(below > 0.0, below, np.where(above < 0.0, above, np.nan))
    return np.where(found.low == found.high, below, contradicted)
