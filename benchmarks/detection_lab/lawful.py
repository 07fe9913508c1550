"""Lawful noise on what a stack answers: what kernels, batches and load do to log-probabilities by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lawful:
    """Normal noise in nats: `response` is its standard deviation on each log-probability, half of the variance common
    to a response; `day` that of a shift of each token that a day's responses share; `uneven` that of the logarithm of a
    day's factor on `response`."""

    response: float = 0.03
    day: float = 0.0
    uneven: float = 0.0

    def drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Of responses in one day each, [..., responses, tokens]; the first axis is of days where they are uneven."""
        part = self.response / np.sqrt(2.0)
        common = rng.normal(0.0, 1.0, (*shape[:-1], 1))
        noise = part * (common + rng.normal(0.0, 1.0, shape))
        if self.uneven:
            noise *= np.exp(rng.normal(0.0, self.uneven, (shape[0], *[1] * (len(shape) - 1))))
        shifts = rng.normal(0.0, self.day, (*shape[:-2], 1, shape[-1])) if self.day else 0.0
        return np.asarray(noise + shifts)


def listed(logprobs: Floats, k: int) -> Floats:
    """What an endpoint shows of its log-probabilities [..., tokens]: the k largest, nan for the rest."""
    least = -np.partition(-logprobs, k - 1, axis=-1)[..., k - 1 : k]
    return np.where(logprobs >= least, logprobs, np.nan)


def side_by_side(
    ids: NDArray[np.int32], logprobs: Floats, other_ids: NDArray[np.int32], other_logprobs: Floats
) -> tuple[Floats, Floats]:
    """Two stacks' log-probabilities of one prompt over the tokens that either knows, [tokens] each; -∞ where one does
    not have a token among those it keeps, so that it never lists it."""
    union, places = np.unique(np.concatenate([ids, other_ids]), return_inverse=True)
    ours, theirs = np.full(len(union), -np.inf), np.full(len(union), -np.inf)
    ours[places[: len(ids)]], theirs[places[len(ids) :]] = logprobs, other_logprobs
    return ours, theirs


def greedy_tokens(logprobs: Floats, responses: int, lawful: Lawful, rng: np.random.Generator) -> Ints:
    """The places of the first tokens that `responses` noisy answers at temperature 0 take; logprobs [..., tokens] ->
    [..., responses]."""
    noise = lawful.drawn((*logprobs.shape[:-1], responses, logprobs.shape[-1]), rng)
    return np.asarray((logprobs[..., None, :] + noise).argmax(axis=-1))
