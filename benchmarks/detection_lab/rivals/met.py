"""MET, model equality testing (Gao et al., ICLR 2025): squared MMD with a Hamming kernel on tokens.

Answers are token ids [prompts, answers, tokens], ended answers filled up with one id that no token has; as in the
authors' code places after both answers' end count as equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Floats = NDArray[np.float64]


def kernel(ids: Ids) -> Floats:
    """[prompts, answers, answers]: the share of places where two answers to one prompt have the same token; 0 of an
    answer with itself, which no mean counts."""
    shared = (ids[:, :, None, :] == ids[:, None, :, :]).mean(axis=-1)
    diagonal = np.arange(ids.shape[1])
    shared[:, diagonal, diagonal] = 0.0
    return np.asarray(shared)


def statistic(pooled: Floats, first: Floats) -> Floats:
    """Mean kernel within each side, less twice that across: [draws], from the kernel of both sides' answers [prompts,
    n, n] and which of them are the first side's, 0 or 1, [draws, prompts, n]; as many of each prompt."""
    n = pooled.shape[-1]
    n_first = int(first[0, 0].sum())
    n_second = n - n_first
    towards = np.einsum("dpi,pij->dpj", first, pooled, optimize=True)
    within = np.einsum("dpj,dpj->d", towards, first)
    touching = towards.sum(axis=(1, 2))
    across = touching - within
    rest = pooled.sum() - within - 2 * across
    prompts = len(pooled)
    return np.asarray(
        within / (prompts * n_first * (n_first - 1))
        + rest / (prompts * n_second * (n_second - 1))
        - 2 * across / (prompts * n_first * n_second)
    )


def mmd(first: Ids, second: Ids) -> float:
    """Of two samples of as many prompts."""
    sides = np.zeros((1, len(first), first.shape[1] + second.shape[1]))
    sides[:, :, : first.shape[1]] = 1.0
    return float(statistic(kernel(np.concatenate([first, second], axis=1)), sides)[0])


def p_value(first: Ids, second: Ids, draws: int, rng: np.random.Generator) -> float:
    """By permuting within each prompt; the one seen counts as a draw. (The authors permute across prompts and leave the
    one seen out, with which small levels are not kept.)"""
    prompts, n_first, n = len(first), first.shape[1], first.shape[1] + second.shape[1]
    sides = np.zeros((draws + 1, prompts, n))
    sides[0, :, :n_first] = 1.0
    order = rng.random((draws, prompts, n)).argsort(axis=-1)
    sides[1:] = order < n_first
    statistics = statistic(kernel(np.concatenate([first, second], axis=1)), sides)
    return float((statistics >= statistics[0] - 1e-12).mean())
