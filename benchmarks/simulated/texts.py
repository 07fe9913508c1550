"""Whole answers of a made-up model that the reference knows: each prompt has its own chances of the next token, given
the one before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from monitor.drift.answers import Answers, Sides
from monitor.drift.greedy_divergence import NO_TOKEN
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import IntArray

VOCABULARY = 40
END = VOCABULARY
# From log-chances [prompts, before, tokens], not normalised, to those of a changed model.
Change = Callable[[FloatArray], FloatArray]


def same(logits: FloatArray) -> FloatArray:
    return logits


def tempered(temperature: float) -> Change:
    return lambda logits: logits / temperature


def noisy(deviation: float) -> Change:
    """Quantized weights: the same error, nat, whenever the same token is read."""
    return lambda logits: logits + np.random.default_rng(99).normal(0.0, deviation, logits.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """logits: [prompts, before, tokens and the end]; before the first token is `END`."""

    logits: FloatArray

    @property
    def logprobs(self) -> FloatArray:
        return np.asarray(self.logits - np.logaddexp.reduce(self.logits, axis=-1, keepdims=True))

    def changed(self, by: Change) -> Model:
        return Model(by(self.logits))

    def drawn(self, prompts: IntArray, tokens: int, rng: np.random.Generator) -> IntArray:
        """An answer to each of the prompts, of so many tokens at most."""
        edges = np.exp(self.logprobs).cumsum(axis=-1)
        ids = np.full((len(prompts), tokens), NO_TOKEN, dtype=np.int64)
        before = np.full(len(prompts), END)
        going = np.ones(len(prompts), dtype=np.bool_)
        for place in range(tokens):
            drawn = (rng.random((len(prompts), 1)) > edges[prompts, before, :-1]).sum(axis=1)
            going &= drawn != END
            ids[going, place] = drawn[going]
            before = np.where(going, drawn, END)
        return ids

    def read(self, prompts: IntArray, ids: IntArray) -> Answers:
        """As the reference, which this is, reads answers."""
        before = np.concatenate([np.full((len(ids), 1), END), ids[:, :-1]], axis=1)
        there = ids != NO_TOKEN
        known = self.logprobs[prompts[:, np.newaxis], np.where(there, before, END)]
        own = np.take_along_axis(known, np.where(there, ids, 0)[..., np.newaxis], axis=-1)
        ranks = np.where(there, (known[..., :-1] > own).sum(axis=-1), NO_TOKEN)
        return Answers(prompts, ids, np.where(there, own[..., 0], np.nan), ranks, ids)


def model(prompts: int, seed: int, ends: float = -4.0) -> Model:
    """Sharp and wide prompts among each other."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 1.0, (prompts, END + 1, END + 1)) * rng.uniform(0.5, 2.5, (prompts, 1, 1))
    logits[:, :, END] = ends
    return Model(logits)


def sides(
    prompts: int, here: int, there: int, *, seed: int, change: Change = same, tokens: int = 30, of: Model | None = None
) -> Sides:
    """So many answers of either side to each prompt."""
    reference, rng = model(prompts, seed=7) if of is None else of, np.random.default_rng(seed)
    ours, theirs = (np.repeat(np.arange(prompts), times) for times in (here, there))
    endpoint = reference.changed(change).drawn(ours, tokens, rng)
    return Sides(reference.read(ours, endpoint), reference.read(theirs, reference.drawn(theirs, tokens, rng)))


def rows(answers: Answers, chosen: IntArray) -> Answers:
    """Some of the answers, in this order."""
    stated = None if answers.stated is None else answers.stated[chosen]
    return replace(
        answers,
        prompts=answers.prompts[chosen],
        ids=answers.ids[chosen],
        logprobs=answers.logprobs[chosen],
        ranks=answers.ranks[chosen],
        as_came=answers.as_came[chosen],
        stated=stated,
    )
