"""Likelihood ratios of candidates on made-up tokens: false alarms under lawful noise, and tokens to proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated.figure import Figure, share
from monitor.drift.candidates import Hypotheses, ratio_paths, token_mixture
from monitor.drift.lawful_replays import counts_toward_alarms
from monitor.drift.observation import FloatArray

_PROMPTS, _VOCABULARY, _MEMBERS = 40, 50, 8
_NOISE = 0.03  # nat a logit: of the cloud's members
# Mean |Δ| of log-probabilities, in nats (table D).
CANDIDATES = {"int8": 0.071, "fp8": 0.154, "nf4": 0.46}
_ALPHA = 0.01
_AT_ONCE = 25


@dataclass(frozen=True)
class Model:
    """Log-probabilities [hypotheses, prompts, vocabulary] in the order of `hypotheses`. Allowed are the profile, the
    members of its cloud and their mixture at each token."""

    hypotheses: Hypotheses
    logs: FloatArray

    @classmethod
    def of(cls, rng: np.random.Generator, horizon: int) -> Model:
        profile = 1.35 * rng.standard_normal((_PROMPTS, _VOCABULARY))
        # A normal step of deviation s has a mean magnitude of s √(2/π).
        steps = np.array([*CANDIDATES.values()]) / np.sqrt(2.0 / np.pi)
        sizes = np.concatenate([steps, [0.0], np.full(_MEMBERS, _NOISE)])
        logs = logs_of(profile + sizes[:, np.newaxis, np.newaxis] * rng.standard_normal((sizes.size, *profile.shape)))
        members = [f"member {i}" for i in range(_MEMBERS)]
        mixed = token_mixture(np.moveaxis(logs[-_MEMBERS:], 0, -1))
        hypotheses = Hypotheses(tuple(CANDIDATES), ("profile", *members, "mixture"), horizon)
        return cls(hypotheses, np.concatenate([logs, mixed[np.newaxis]]))

    def named(self, name: str) -> FloatArray:
        return np.asarray(self.logs[[*self.hypotheses.candidates, *self.hypotheses.allowed].index(name)])

    def paths(self, rng: np.random.Generator, drawn_by: Lawful, streams: int, tokens: int) -> FloatArray:
        """log E after each token of streams that are drawn by what is made up anew for every one of them."""
        found = []
        for first in range(0, streams, _AT_ONCE):
            size = min(_AT_ONCE, streams - first)
            prompts = rng.integers(_PROMPTS, size=(size, tokens))
            drawn = np.stack([_drawn(rng, drawn_by(rng, self), row) for row in prompts])
            found.append(ratio_paths(self.hypotheses, np.moveaxis(self.logs[:, prompts, drawn], 0, -1)))
        return np.concatenate(found)

    def divergence(self, name: str) -> float:
        """KL to the profile, nats a token."""
        logs = self.named(name)
        return float((np.exp(logs) * (logs - self.named("profile"))).sum(axis=-1).mean())


# What draws a stream's tokens: log-probabilities [prompts, vocabulary].
Lawful = Callable[[np.random.Generator, Model], FloatArray]


def logs_of(logits: FloatArray) -> FloatArray:
    from scipy.special import log_softmax

    return np.asarray(log_softmax(logits, axis=-1))


def _drawn(rng: np.random.Generator, logs: FloatArray, prompts: np.ndarray) -> np.ndarray:
    sums = np.cumsum(np.exp(logs), axis=-1)[prompts]
    return np.asarray(np.minimum((sums < rng.random((prompts.size, 1))).sum(axis=-1), _VOCABULARY - 1))


def _member(rng: np.random.Generator, model: Model) -> FloatArray:
    return model.named(f"member {rng.integers(_MEMBERS)}")


def _no_member(rng: np.random.Generator, model: Model) -> FloatArray:
    profile = model.named("profile")
    return logs_of(profile + _NOISE * rng.standard_normal(profile.shape))


def _towards(share: float) -> Lawful:
    """That far from the profile to int8."""
    return lambda _, model: logs_of((1.0 - share) * model.named("profile") + share * model.named("int8"))


LAWFUL: dict[str, Lawful] = {
    "the profile": lambda _, model: model.named("profile"),
    "members of the cloud": _member,
    "members that change from token to token": lambda _, model: model.named("mixture"),
}
OUTSIDE: dict[str, Lawful] = {
    "noise as large as the cloud's, but no member": _no_member,
    "noise two thirds of the way to int8": _towards(2.0 / 3.0),
}


def figures(streams: int, *, tokens: int = 2_000, seed: int = 0) -> Iterator[Figure]:
    rng = np.random.default_rng(seed)
    model = Model.of(rng, tokens)
    for what, drawn_by in (LAWFUL | OUTSIDE).items():
        paths = model.paths(rng, drawn_by, streams, tokens)
        name = f"likelihood ratio, epochs of {tokens:,} tokens: {what}: any alarm at α = {_ALPHA:g}"
        reached = paths.max(axis=1) >= -np.log(_ALPHA)
        shown = counts_toward_alarms({what: paths}, alpha=_ALPHA)
        yield (
            share(name, reached, _ALPHA, "G9")
            if what in LAWFUL
            else Figure(f"{name} ({streams:,})", reached.mean(), "")
        )
        yield Figure(f"{what}: {shown.reason}; mean of E", shown.mean, "", 1.0 if what in LAWFUL else None)
    yield from delays(max(5, streams // 200), seed=seed)


def delays(streams: int, *, horizon: int = 20_000, seed: int = 0) -> Iterator[Figure]:
    """Tokens of a change that is there from the beginning, to E ≥ 1,000; at most twice the bound of DETECTION.md §8,
    (log 1,000 + log horizon) / KL."""
    rng = np.random.default_rng(seed)
    model = Model.of(rng, horizon)
    for name in CANDIDATES:
        bound = (np.log(1_000.0) + np.log(horizon)) / model.divergence(name)
        paths = model.paths(rng, _candidate(name), streams, int(2.0 * bound) + 1)
        proven = paths >= np.log(1_000.0)
        first = np.where(proven.any(axis=1), proven.argmax(axis=1) + 1.0, np.inf)
        what = f"likelihood ratio: tokens to 1,000 of {name}, median ({streams}); the bound is {bound:,.0f}"
        yield Figure(what, float(np.median(first)), "tokens", 2.0 * bound, "bound of §8")


def _candidate(name: str) -> Lawful:
    return lambda _, model: model.named(name)
