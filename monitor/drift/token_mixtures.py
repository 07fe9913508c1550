"""Two stacks in first tokens alone, of border inputs: seen where one visit holds the tokens of several prompts.

A prompt's tokens by themselves are one more law of tokens, whatever the stacks. But tokens of different prompts within
one visit (a connection, or what else one stack is known to answer) hang together where there are stacks, and only there
once a day's own noise is set aside. So the test deals every prompt's tokens anew to the visits of a block: with one
stack each dealing is as likely as the one seen, and p is exact. Shares are those of two latent classes (Goodman 1974).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.evidence import Inapplicable
from monitor.drift.linking import posterior, share_interval
from monitor.drift.mixtures import ALPHA, Stack
from monitor.drift.observation import FloatArray
from monitor.drift.rates import wilson
from monitor.drift.relabelling import p_value
from monitor.drift.resplit import IntArray

FEWEST_VISITS = 20
FEWEST_PROMPTS = 4
_DEALS = 999
_ROUNDS = 300
_SMOOTH = 0.5
# Dealt at once: a visit's token of each prompt, 100 MB of numbers.
_CELLS = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class TokenMixture:
    """Two stacks, the larger first, or one. A stack's `gap` is the mean total variation of its first tokens from the
    largest stack's. of: the probability that a visit is of each, [visits, stacks]; p: that tokens hang together so much
    with one stack."""

    stacks: tuple[Stack, ...]
    of: FloatArray
    p: float


def token_mixture(
    visits: Sequence[Mapping[str, bytes]], block: IntArray, *, alpha: float = ALPHA, seed: int = 0
) -> TokenMixture | Inapplicable:
    """visits: prompt → first token; block: within which lawful noise stays as it is, such as a day, shape [visits].

    More than two stacks are told as two. Raises ValueError where there are not as many blocks as visits.
    """
    if block.shape != (len(visits),):
        raise ValueError(f"each visit has a block: there are {len(visits)} and {block.shape}")
    asked = Counter(prompt for visit in visits for prompt in visit)
    prompts = sorted(prompt for prompt, times in asked.items() if 2 * times >= len(visits))
    if len(visits) < FEWEST_VISITS or len(prompts) < FEWEST_PROMPTS:
        return Inapplicable(
            f"stacks show in first tokens by {FEWEST_VISITS} visits with {FEWEST_PROMPTS} prompts in common, "
            f"and these are {len(visits)} with {len(prompts)}"
        )
    table = _coded(visits, prompts)
    p = _together(table, block, np.random.default_rng(seed))
    if p > alpha:
        alone = Stack(1.0, wilson(len(visits), len(visits)), 0.0)
        return TokenMixture((alone,), np.ones((len(visits), 1)), p)
    logs, shares, gap = _classes(table)
    order = np.argsort(-shares, kind="stable")
    logs, shares = logs[:, order], shares[order]
    stacks = tuple(Stack(float(shares[k]), share_interval(logs, shares, k), gap * k) for k in (0, 1))
    return TokenMixture(stacks, posterior(logs, shares), p)


def _coded(visits: Sequence[Mapping[str, bytes]], prompts: Sequence[str]) -> IntArray:
    """Tokens by how common they are, the commonest 0, −1 where the prompt was not asked; shape [visits, prompts]."""
    table = np.full((len(visits), len(prompts)), -1, dtype=np.int64)
    for column, prompt in enumerate(prompts):
        counts = Counter(visit[prompt] for visit in visits if prompt in visit)
        codes = {token: code for code, token in enumerate(sorted(counts, key=lambda token: (-counts[token], token)))}
        table[:, column] = [codes[visit[prompt]] if prompt in visit else -1 for visit in visits]
    return table


def _together(table: IntArray, block: IntArray, rng: np.random.Generator) -> float:
    """Exact p of the largest eigenvalue of what prompts' tokens have in common, "the commonest or not", off each
    block's own rate."""
    _, cell = np.unique(block, return_inverse=True)
    values = np.zeros(table.shape)
    for one in range(int(cell.max()) + 1):
        rows = cell == one
        asked = table[rows] >= 0
        rate = np.where(asked, table[rows] == 0, 0.0).sum(axis=0) / np.maximum(asked.sum(axis=0), 1)
        values[rows] = np.where(asked, (table[rows] == 0) - rate, 0.0)
    spread = np.sqrt((values**2).sum(axis=0))
    values = values[:, spread > 0.0] / spread[spread > 0.0]
    if values.shape[1] < 2:
        return 1.0
    # Missing tokens are dealt among missing ones only, so that a visit's are those that it was asked.
    strata = cell[:, np.newaxis] * 2 + (table[:, spread > 0.0] < 0)
    observed = _eigenvalues(values[np.newaxis])[0]
    at_once = max(1, _CELLS // values.size)
    times = (min(at_once, _DEALS - begin) for begin in range(0, _DEALS, at_once))
    found = np.concatenate([_eigenvalues(_dealt(values, strata, count, rng)) for count in times])
    return p_value(float(observed), found)


def _dealt(values: FloatArray, strata: IntArray, times: int, rng: np.random.Generator) -> FloatArray:
    """Every column shuffled within its strata, so many times."""
    to = np.argsort(strata, axis=0, kind="stable")
    drawn = np.argsort(strata + rng.random((times, *values.shape)), axis=1)
    shuffled = np.empty((times, *values.shape))
    source = np.take_along_axis(np.broadcast_to(values, drawn.shape), drawn, axis=1)
    np.put_along_axis(shuffled, np.broadcast_to(to, drawn.shape), source, axis=1)
    return shuffled


def _eigenvalues(values: FloatArray) -> FloatArray:
    common = np.einsum("bvp,bvq->bpq", values, values, optimize=True)
    diagonal = np.arange(values.shape[2])
    common[:, diagonal, diagonal] = 0.0
    return np.asarray(np.linalg.eigvalsh(common)[:, -1])


def _classes(table: IntArray) -> tuple[FloatArray, FloatArray, float]:
    """Log-densities of the visits, shape [visits, 2], shares, and the mean total variation between the two."""
    asked = table >= 0
    common = np.where(asked, (table == 0) - (table == 0).sum(axis=0) / asked.sum(axis=0), 0.0)
    scores = common @ np.linalg.eigh(common.T @ common)[1][:, -1]
    likely = np.stack([scores <= 0.0, scores > 0.0], axis=1).astype(np.float64)
    for _ in range(_ROUNDS):
        shares = likely.mean(axis=0)
        laws = [_law(column, likely) for column in table.T]
        logs = np.zeros(likely.shape)
        for column, law in zip(table.T, laws, strict=True):
            logs[column >= 0] += np.log(law[column[column >= 0]])
        after = posterior(logs, shares)
        if np.abs(after - likely).max() < 1e-6:
            break
        likely = after
    gap = float(np.mean([np.abs(law[:, 0] - law[:, 1]).sum() / 2.0 for law in laws]))
    return logs, shares, gap


def _law(column: IntArray, likely: FloatArray) -> FloatArray:
    """Each class's law of one prompt's tokens, shape [tokens, 2]; half a token is added to each."""
    counts = np.full((int(column.max()) + 1, 2), _SMOOTH)
    there = column >= 0
    np.add.at(counts, column[there], likely[there])
    return np.asarray(counts / counts.sum(axis=0))
