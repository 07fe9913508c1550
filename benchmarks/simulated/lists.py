"""Made-up endpoints that list log-probabilities (T1) or only answer (T2): the whole path from answers to evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.simulated.rounds import DAY_NOISE, HOURS, PROMPTS, TOKENS, Scores
from monitor.drift.border import ASKS, CANDIDATES
from monitor.drift.border_scores import First
from monitor.drift.levels import DAY
from monitor.drift.listing import Listing

_VOCABULARY = 60
# Logits' standard deviation: the twenty likeliest of so many tokens span some 6 nats.
_SPREAD = 3.0


@dataclass(frozen=True)
class Lists:
    """Log-probabilities of each prompt's first token before noise, shape [prompts, vocabulary]. `noise` in nats, half
    of its variance common to an answer's tokens; `listed` of them are returned."""

    logprobs: Scores
    noise: float
    listed: int = TOKENS

    @classmethod
    def of(cls, rng: np.random.Generator, noise: float, prompts: int = PROMPTS) -> Lists:
        return cls(_normalised(_SPREAD * rng.standard_normal((prompts, _VOCABULARY))), noise)

    def moved(self, rng: np.random.Generator, shift: float) -> Lists:
        """Each prompt's log-probabilities off in a direction of its own, by `shift` nats a token on average."""
        moves = rng.standard_normal(self.logprobs.shape)
        moves *= shift / np.abs(moves).mean(axis=1, keepdims=True)
        return replace(self, logprobs=self.logprobs + moves)

    def at_temperature(self, temperature: float) -> Lists:
        return replace(self, logprobs=_normalised(self.logprobs / temperature))

    def hours(self, rng: np.random.Generator, hours: int, *, first: int = 0, daily: float = 0.0) -> list[list[Listing]]:
        """One answer to each prompt every hour from hour `first` on; daily: deviation of each day's log-normal factor
        on the noise."""
        factors = np.repeat(np.exp(daily * rng.standard_normal(hours // HOURS + 1)), HOURS)[:hours]
        size = (hours, *self.logprobs.shape)
        noise = rng.standard_normal(size) + rng.standard_normal((*size[:-1], 1))
        noise *= self.noise * np.sqrt(0.5) * factors[:, np.newaxis, np.newaxis]
        values = np.minimum(0.0, self.logprobs + noise)
        order = np.argsort(-values, axis=-1)[..., : self.listed]
        listed = np.take_along_axis(values, order, axis=-1)
        return [
            [
                Listing(
                    f"prompt-{prompt}", (first + hour) * DAY / HOURS, _names(order[hour, prompt]), listed[hour, prompt]
                )
                for prompt in range(size[1])
            ]
            for hour in range(hours)
        ]


@dataclass(frozen=True)
class Borders:
    """Prompts whose first token is one of two. On each day another share of the answers has the second one, drawn from
    Beta(4, 36); `elsewhere` of the queries go to another model, whose first tokens are all others."""

    elsewhere: float = 0.0

    def counts(self, rng: np.random.Generator) -> Mapping[str, Mapping[bytes, int]]:
        """Of as many candidates and answers to each as an enrolment takes."""
        second = rng.binomial(ASKS, rng.beta(*DAY_NOISE, CANDIDATES))
        return {f"input-{place}": {b"a": ASKS - int(count), b"b": int(count)} for place, count in enumerate(second)}

    def hours(self, rng: np.random.Generator, hours: int, prompts: Sequence[str], asked: int = 10) -> list[list[First]]:
        """Every hour `asked` of the prompts, once each."""
        rates = np.repeat(rng.beta(*DAY_NOISE, hours // HOURS + 1), HOURS)[:hours]
        return [
            [First(prompts[place], self._token(rng, rate)) for place in rng.permutation(len(prompts))[:asked].tolist()]
            for rate in rates.tolist()
        ]

    def _token(self, rng: np.random.Generator, rate: float) -> bytes:
        if rng.random() < self.elsewhere:
            return b"another"
        return b"b" if rng.random() < rate else b"a"


def _names(places: np.ndarray) -> tuple[bytes, ...]:
    return tuple(b"token-%d" % place for place in places.tolist())


def _normalised(logits: Scores) -> Scores:
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))
