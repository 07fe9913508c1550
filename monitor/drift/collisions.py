"""Are draws of one prompt drawn anew, or are some of them copies of others: a cache of answers, clones of one seed
(DETECTION.md §2.3, T4)?

Under the null each draw's chance of its token is what the endpoint says, p(y) at most, whatever was drawn before. The
alternative is that a share γ are copies, of any draw before or of the last one: (1 − γ) p(y) + γ ĉ(y), where ĉ is the
distribution of what it copies. Its ratio to p(y) has mean 1 given the past, and equal answers count the less the
likelier they are by themselves. Answers that are all alike from a distribution of low entropy are no evidence.
"""

from __future__ import annotations

import numpy as np

from monitor.drift.draws import Cells, Draws
from monitor.drift.evidence import Combining, Evidence, Factors, Inapplicable, Null, StreamKey
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray
from monitor.drift.sampler import FIRED_AT, factors_of

SHARES = (0.1, 0.5, 0.95)


def log_ratios(ids: IntArray, most: FloatArray) -> FloatArray:
    """Of the draws of one prompt in their order, nat, [n, 2 shares]. ids: equal where the same answer came; most: its
    chance, or an upper bound, [n]. Of answers of many tokens it is the product of theirs."""
    if not ((most > 0.0) & (most <= 1.0)).all():
        raise ValueError(f"chances of what came are in (0, 1], and they run from {most.min()} to {most.max()}")
    same = ids[:, np.newaxis] == ids
    before = np.arange(len(ids))
    any_before = np.tril(same, -1).sum(axis=1) / np.maximum(before, 1)
    last = np.concatenate([[0.0], same[before[1:], before[:-1]]]) if len(ids) else any_before
    copied = np.stack([any_before, last], axis=1)[:, :, np.newaxis] / most[:, np.newaxis, np.newaxis]
    shares = np.array(SHARES)
    ratios = (1.0 - shares) + shares * copied
    # There is nothing that the first one could be a copy of.
    ratios[:1] = 1.0
    return np.asarray(np.log(ratios).reshape(len(ids), -1))


def expected_share(cells: Cells) -> FloatArray:
    """Of pairs of draws from one distribution, the share that is alike: Σ p², at most, [n]. Of the rest no token is
    likelier than the least one outside of it."""
    listed, rest = cells.p[:, :-1], cells.rest
    least = np.where(listed > 0.0, listed, np.inf).min(axis=1)
    return np.asarray((listed**2).sum(axis=1) + rest * np.minimum(least, rest))


def of_collisions(stream: StreamKey, at: float, draws: Draws, *, tokens: int = 0) -> Evidence:
    """A round's draws, prompt by prompt, one factor for each share and kind of copies. Its stream shares answers with
    that of `sampler.of_sampler`: the two are averaged, never multiplied.

    Inapplicable where even equal draws would prove nothing.
    """
    if (why := draws.why_not) is not None:
        return Evidence(stream, at, Inapplicable(why), len(draws), tokens)
    cells = Cells.of(draws)
    expected = float(expected_share(cells).mean())
    groups = [np.flatnonzero(draws.prompts == prompt) for prompt in np.unique(draws.prompts)]
    alike, pairs = _alike(draws.ids, groups)
    if not pairs:
        return Evidence(stream, at, Inapplicable("no prompt was asked twice"), len(draws), tokens)
    if not _could_tell(cells, groups):
        reason = f"draws are alike by themselves: {expected:.0%} of pairs would be, and copies would prove nothing"
        return Evidence(stream, at, Inapplicable(reason), len(draws), tokens)
    most = cells.most_of_drawn
    ratios = np.concatenate([log_ratios(draws.ids[group], most[group]) for group in groups])
    reason = f"{alike} of {pairs} pairs of draws are alike, where {expected:.1%} would be at most"
    factors = Factors(factors_of(ratios), Null.STATED, Combining.EACH)
    return Evidence(stream, at, factors, len(draws), tokens, (reason,))


def _could_tell(cells: Cells, groups: list[IntArray]) -> bool:
    """Whether the average product would be 1,000 if every draw had been the likeliest token."""
    likeliest = cells.most_of_a_token.max(axis=1)
    same = [log_ratios(np.zeros(len(group), dtype=np.int64), likeliest[group]) for group in groups]
    factors = factors_of(np.concatenate(same))
    return sum(factors) / len(factors) >= FIRED_AT


def _alike(ids: IntArray, groups: list[IntArray]) -> tuple[int, int]:
    """Pairs of equal draws of one prompt, and all pairs."""
    counts = [np.unique(ids[group], return_counts=True)[1] for group in groups]
    return (
        sum(int((count * (count - 1) // 2).sum()) for count in counts),
        sum(len(group) * (len(group) - 1) // 2 for group in groups),
    )
