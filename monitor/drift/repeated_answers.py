"""Several answers of the endpoint to each prompt beside several of the reference: are they of one distribution?

Three statistics on the same answers, each tested by dealing these out anew within every prompt (`dealt_answers.py`):

- the squared distance (MMD) of the sides with a Hamming kernel, the number of places at which two answers to one
  prompt have the same token (Gao et al., ICLR 2025, §3); what is past an answer's end agrees with nothing;
- the difference of the mean negative log-probability a token under the reference, prompt by prompt;
- equal answers: more of them on the endpoint's side are copies, of a cache or of one seed, or a lower temperature.

The distance is that of canonical tokens. The same of the texts with the whitespace that they came with tells what is
formatting: a stripped leading space alone moves every token by a place (Zhu et al. 2026 §5.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from monitor.drift.answers import Sides, joined
from monitor.drift.dealt_answers import NOWHERE, Measured, Pooled, Sums, measured
from monitor.drift.greedy_divergence import NO_TOKEN
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray

DRAWS = 19_999
# By the texts as they came they differ, and most of the difference is gone in canonical form.
_SEEN, _MOST = 0.01, 0.5


def agreements(ids: IntArray, pooled: Pooled) -> FloatArray:
    """At how many places two answers to one prompt have the same token, [prompts, width, width]; 0 of an answer with
    itself, which no mean counts. ids: of both sides, [answers, tokens].

    It is an inner product of one-hot vectors, so a kernel; `NO_TOKEN` is no token.
    """
    rows = np.where(pooled.places[:, :, np.newaxis] == NOWHERE, NO_TOKEN, ids[pooled.places])
    found = np.zeros((*pooled.places.shape, pooled.places.shape[1]))
    # Token by token: pairs by tokens at once would be hundreds of MB.
    for tokens in np.moveaxis(rows, -1, 0):
        found += (tokens[:, :, np.newaxis] == tokens[:, np.newaxis]) & (tokens != NO_TOKEN)[:, :, np.newaxis]
    return _without_diagonal(found)


def equals(ids: IntArray, pooled: Pooled) -> FloatArray:
    """1 for two answers to one prompt that are the same and not empty, in the shape of `agreements`."""
    alike = agreements(ids, pooled)
    tokens = np.where(pooled.places == NOWHERE, 0, (ids != NO_TOKEN).sum(axis=1)[pooled.places])
    same = (alike == tokens[:, :, np.newaxis]) & (alike == tokens[:, np.newaxis]) & (alike > 0.0)
    return np.asarray(same, dtype=np.float64)


def _without_diagonal(kernel: FloatArray) -> FloatArray:
    each = np.arange(kernel.shape[1])
    kernel[:, each, each] = 0.0
    return kernel


def squared_distance(labels: FloatArray, kernel: FloatArray, pooled: Pooled) -> FloatArray:
    """Mean kernel within the endpoint's answers and within the reference's, less twice that across, the mean over
    prompts: unbiased, [deals]. Of a side with one answer to a prompt there is no mean within."""
    sums = Sums.of(kernel, labels)
    here, there = pooled.here[:, np.newaxis], pooled.there[:, np.newaxis]
    by_prompt = _mean(sums.here, here) + _mean(sums.there, there) - 2.0 * sums.across / (here * there)
    return np.asarray(by_prompt.mean(axis=0))


def more_equal(labels: FloatArray, kernel: FloatArray, pooled: Pooled) -> FloatArray:
    """The share of equal pairs of the endpoint's answers less that of the reference's: mean over prompts, [deals]."""
    sums = Sums.of(kernel, labels)
    apart = _mean(sums.here, pooled.here[:, np.newaxis]) - _mean(sums.there, pooled.there[:, np.newaxis])
    return np.asarray(apart.mean(axis=0))


def _mean(sums: FloatArray, answers: IntArray) -> FloatArray:
    """Over ordered pairs."""
    return np.asarray(sums / np.maximum(answers * (answers - 1), 1))


def difference(labels: FloatArray, values: FloatArray, pooled: Pooled) -> FloatArray:
    """Mean of the endpoint's values less that of the reference's, the mean over prompts, [deals]. values: 0 past the
    last answer, [prompts, width]."""
    ours = (labels * values[:, np.newaxis]).sum(axis=-1)
    theirs = values.sum(axis=1)[:, np.newaxis] - ours
    return np.asarray((ours / pooled.here[:, np.newaxis] - theirs / pooled.there[:, np.newaxis]).mean(axis=0))


def _size_of_difference(labels: FloatArray, values: FloatArray, pooled: Pooled) -> FloatArray:
    return np.abs(difference(labels, values, pooled))


@dataclass(frozen=True, slots=True)
class Compared:
    """distance: squared, in tokens that agree; as_came: the same of texts that were not stripped. moved: by how many
    nats a token the endpoint's answers are less likely than the reference's own, with a two-sided p. copies: the
    share of equal pairs that the endpoint has more. prompts, answers: how many were compared, the latter of the
    endpoint."""

    distance: Measured
    as_came: Measured
    moved: Measured
    copies: Measured
    prompts: int
    answers: int

    @property
    def formatting(self) -> float:
        """What the canonical form took off the squared distance."""
        return self.as_came.value - self.distance.value

    @property
    def distance_words(self) -> str:
        return f"squared distance of {self.answers} answers {self.distance.value:.3g} tokens (p {self.distance.p:.2g})"

    @property
    def moved_words(self) -> str:
        way = "less" if self.moved.value > 0.0 else "more"
        return f"{abs(self.moved.value):.3f} nat a token {way} likely than the reference's own (p {self.moved.p:.2g})"

    @property
    def formatting_words(self) -> str | None:
        """None unless whitespace alone makes most of a difference that is clearly there."""
        if self.as_came.p > _SEEN or self.formatting < _MOST * self.as_came.value:
            return None
        return (
            f"formatting: with the whitespace that texts came with the squared distance is {self.as_came.value:.3g} "
            f"tokens (p {self.as_came.p:.2g}), of which stripping takes {self.formatting:.3g}"
        )


def compare(sides: Sides, rng: np.random.Generator, draws: int = DRAWS) -> Compared:
    """Raises ValueError without a prompt that both sides answered."""
    pooled = Pooled.of(sides.endpoint.prompts, sides.reference.prompts)
    ids = joined(sides.endpoint.ids, sides.reference.ids)
    as_came = joined(sides.endpoint.as_came, sides.reference.as_came)
    nll = np.concatenate([sides.endpoint.nll, sides.reference.nll])
    values = np.where(pooled.places == NOWHERE, 0.0, nll[pooled.places])
    distance, raw, moved, copies = measured(
        pooled,
        (
            partial(squared_distance, kernel=agreements(ids, pooled), pooled=pooled),
            partial(squared_distance, kernel=agreements(as_came, pooled), pooled=pooled),
            partial(_size_of_difference, values=values, pooled=pooled),
            partial(more_equal, kernel=equals(ids, pooled), pooled=pooled),
        ),
        draws,
        rng,
    )
    signed = float(difference(pooled.seen, values, pooled)[0])
    return Compared(distance, raw, moved._replace(value=signed), copies, len(pooled), int(pooled.here.sum()))
