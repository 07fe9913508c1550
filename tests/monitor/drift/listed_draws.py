"""Draws as servers list them, of made-up next-token distributions over few tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from monitor.drift.draws import NOT_LISTED, Draws
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray

Listing = Callable[[list[int], int], list[int]]


def likeliest(top: list[int], drawn: int) -> list[int]:
    return top


def drawn_after(top: list[int], drawn: int) -> list[int]:
    """The drawn token is added where it is not among them."""
    return top if drawn in top else [*top, drawn]


def drawn_first(top: list[int], drawn: int) -> list[int]:
    """The drawn token comes first, and the list is cut to its length."""
    return [drawn, *(token for token in top if token != drawn)][: len(top)]


LISTINGS: tuple[Listing, ...] = (likeliest, drawn_after, drawn_first)


def listed(
    p: FloatArray,
    tokens: IntArray,
    k: int,
    *,
    listing: Listing = likeliest,
    decimals: int | None = None,
    rounding: float = 0.0,
    seen: frozenset[int] = frozenset(),
) -> Draws:
    """Draws of one prompt, with what is said of p; seen: tokens that the prompt holds."""
    top = np.argsort(-p, kind="stable")[:k].tolist()
    logprobs = np.full((len(tokens), k + 1), np.nan)
    marks = np.zeros(logprobs.shape, dtype=np.bool_)
    columns = np.full(len(tokens), NOT_LISTED)
    logs = np.log(p) if decimals is None else np.round(np.log(p), decimals)
    for row, token in enumerate(tokens.tolist()):
        names = listing(top, token)
        logprobs[row, : len(names)] = logs[names]
        marks[row, : len(names)] = [name in seen for name in names]
        columns[row] = names.index(token) if token in names else NOT_LISTED
    prompts = np.zeros(len(tokens), dtype=np.int64)
    return Draws(logprobs, columns, tokens, prompts, k, rounding, marks if seen else None)


@st.composite
def chances(draw: st.DrawFn, tokens: int = 7) -> FloatArray:
    """Of so many tokens, ties among them."""
    most = draw(st.sampled_from([3, 40]))
    weights = np.array(draw(st.lists(st.integers(1, most), min_size=tokens, max_size=tokens)), dtype=np.float64)
    return np.asarray(weights / weights.sum())


def falling(entropy: float, tokens: int = 2_000) -> FloatArray:
    """Chances that fall as a power of the rank, of this entropy in nats."""
    from scipy.optimize import brentq

    ranks = np.log(np.arange(1, tokens + 1) + 1.0)

    def of(power: float) -> FloatArray:
        p = np.exp(-power * ranks)
        return np.asarray(p / p.sum())

    def above(power: float) -> float:
        p = of(power)
        return float(-(p * np.log(p)).sum()) - entropy

    return of(float(brentq(above, 0.5, 12.0)))


def tempered(p: FloatArray, temperature: float) -> FloatArray:
    powers = p ** (1.0 / temperature)
    return np.asarray(powers / powers.sum())


def drawn(p: FloatArray, n: int, seed: int) -> IntArray:
    return np.random.default_rng(seed).choice(len(p), size=n, p=p)
