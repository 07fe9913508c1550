"""An endpoint of the lab as T1 sees it hour by hour: what a stack lists, behind lawful noise; enrolled, scored and bet
on by the product's functions, arrays of many rounds at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.lawful import Lawful, listed
from benchmarks.detection_lab.union import Union
from monitor.drift.calibration import calibrate
from monitor.drift.deviations import capped, mean_deviations
from monitor.drift.fingerprint import Enrolment, enrol
from monitor.drift.levels import DAY, Levels
from monitor.drift.listing import Bounds, Listing, residuals
from monitor.drift.onset import onset
from monitor.drift.paths import bets_paths
from monitor.drift.score_stream import Round
from monitor.drift.whitened import Whitening
from monitor.drift.whitened_scores import tail, whiten

Floats = NDArray[np.float64]

PROMPTS, LISTED, HOURS = 8, 20, 24
BASELINE_DAYS, EPOCH_DAYS = 14, 30
HOUR = DAY / HOURS
# The change comes at noon of the second day of the epoch.
BEFORE = HOURS + HOURS // 2


def answers(logprobs: Floats, days: int, lawful: Lawful, rng: np.random.Generator, k: int = LISTED) -> Floats:
    """What is listed of [prompts, tokens] in one answer to each prompt an hour, [hours, prompts, tokens]; nan for what
    is not. No log-probability is above 0."""
    prompts, tokens = logprobs.shape
    noise = lawful.drawn((days, prompts, HOURS, tokens), rng).swapaxes(1, 2).reshape(-1, prompts, tokens)
    return listed(np.minimum(0.0, logprobs + noise), k)


def listings(union: Union, found: Floats, first: int = 0) -> Iterator[Listing]:
    """The same as the product takes them; `first` is the number of the first hour."""
    for hour, of_hour in enumerate(found):
        for prompt, row in enumerate(of_hour):
            places = np.flatnonzero(np.isfinite(row))
            tokens = tuple(union.name(prompt, place) for place in places.tolist())
            yield Listing(f"prompt-{prompt}", (first + hour) * HOUR, tokens, row[places])


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """`deviation_evidence` on arrays: places of the enrolled tokens among the union's, [prompts, tokens] and -1 beyond,
    their means and the caps."""

    places: NDArray[np.int64]
    means: Floats
    caps: Floats

    @classmethod
    def of(cls, enrolment: Enrolment, union: Union) -> Scoring:
        width = max(len(one.tokens) for one in enrolment.prompts)
        places = np.full((len(union.ids), width), -1, dtype=np.int64)
        means, caps = np.full(places.shape, np.nan), np.full(len(places), np.nan)
        for one in enrolment.prompts:
            prompt = int(one.prompt.rpartition("-")[2])
            known = {int(id_): place for place, id_ in enumerate(union.ids[prompt])}
            places[prompt, : len(one.tokens)] = [known[int(token)] for token in one.tokens]
            means[prompt, : len(one.means)], caps[prompt] = one.means, one.cap
        return cls(places, means, caps)

    def residuals(self, found: Floats) -> Floats:
        """[..., prompts, tokens of the enrolment] of what is listed, [..., prompts, tokens of the union]."""
        least = np.nanmin(found, axis=-1, keepdims=True)
        places = np.broadcast_to(self.places, (*found.shape[:-1], self.places.shape[-1]))
        values = np.take_along_axis(found, np.maximum(places, 0), axis=-1)
        missing = np.isnan(values)
        low, high = np.where(missing, -np.inf, values), np.where(missing, least, values)
        beyond = places < 0
        return residuals(Bounds(np.where(beyond, np.nan, low), np.where(beyond, np.nan, high)), self.means)

    def scores(self, found: Floats) -> Floats:
        """[hours, prompts] of what is listed, [hours, prompts, tokens]."""
        return capped(mean_deviations(self.residuals(found)), self.caps)


@dataclass(frozen=True, slots=True, eq=False)
class WhitenedScoring:
    """`whitened_evidence` on arrays; `noises` and `reaches` of each prompt."""

    scoring: Scoring
    noises: tuple[Whitening, ...]
    reaches: Floats

    def scores(self, found: Floats) -> Floats:
        """[hours, prompts] of what is listed, [hours, prompts, tokens]."""
        residual = self.scoring.residuals(found)
        squared = [noise.squared(residual[..., prompt, : len(noise.own)]) for prompt, noise in enumerate(self.noises)]
        return tail(np.stack(squared, axis=-1), self.reaches)


class Scored(Protocol):
    """Answers, [hours, prompts, tokens] of what is listed, as scores [hours, prompts]."""

    def scores(self, found: Floats) -> Floats: ...


Scorer = Callable[[Enrolment, Sequence[Listing], Union], Scored]


def by_deviation(enrolment: Enrolment, came: Sequence[Listing], union: Union) -> Scored:  # noqa: ARG001
    return Scoring.of(enrolment, union)


def by_length(enrolment: Enrolment, came: Sequence[Listing], union: Union) -> Scored:
    """Raises ValueError where a prompt has too few tokens."""
    kept = [one for one in whiten(enrolment, came).prompts if one is not None]
    if len(kept) < len(union.ids):
        raise ValueError(f"{len(union.ids) - len(kept)} prompts have too few tokens")
    reaches = np.array([one.reach for one in kept])
    return WhitenedScoring(Scoring.of(enrolment, union), tuple(one.noise for one in kept), reaches)


@dataclass(frozen=True, slots=True)
class Rounds:
    """How an hour's answers are scored, where they are lists, and bet on: `together` of them as one round, in the
    order in which they came."""

    asked: int = PROMPTS
    together: int = PROMPTS
    scored: Scorer = by_deviation

    @property
    def a_day(self) -> int:
        return HOURS * self.asked // self.together

    @property
    def before(self) -> int:
        """Rounds of an epoch before the change."""
        return BEFORE * self.asked // self.together

    def of(self, scores: Floats) -> Floats:
        """[hours, asked] → [rounds]."""
        return np.asarray(np.nanmean(scores.reshape(-1, self.together), axis=1))

    def levels(self, rounds: Floats) -> Levels | None:
        """From the rounds of the days of baseline."""
        at = np.arange(len(rounds), dtype=np.float64) * (DAY / self.a_day)
        return calibrate(at, rounds, days=BASELINE_DAYS).levels


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """An endpoint after its days of baseline."""

    scoring: Scored
    rounds: Rounds
    levels: Levels
    lawful: Lawful

    @classmethod
    def begun(cls, union: Union, lawful: Lawful, rng: np.random.Generator, rounds: Rounds = Rounds()) -> Watched | None:
        """Of the union's first stack; None where the baseline is not accepted, and the endpoint would wait."""
        found = answers(union.logprobs[0], BASELINE_DAYS, lawful, rng)
        came = list(listings(union, found))
        enrolled = enrol(came)
        if not isinstance(enrolled, Enrolment):
            return None
        scoring = rounds.scored(enrolled, came, union)
        levels = rounds.levels(rounds.of(scoring.scores(found)))
        return None if levels is None else cls(scoring, rounds, levels, lawful)

    def scores(self, logprobs: Floats, days: int, rng: np.random.Generator) -> Floats:
        """Of the rounds of so many days."""
        return self.rounds.of(self.scoring.scores(answers(logprobs, days, self.lawful, rng)))

    def changing(self, before: Floats, after: Floats, days: int, rng: np.random.Generator) -> Floats:
        """The rounds of an epoch in which one stack takes the other's place."""
        still = self.scores(before, BEFORE // HOURS + 1, rng)[: self.rounds.before]
        return np.concatenate([still, self.scores(after, days, rng)])


@dataclass(frozen=True, slots=True)
class Proof:
    """`rounds` from the change to the proof, ∞ without one; `dated`: by how many rounds the likeliest first round is
    off, nan without a proof."""

    rounds: float
    dated: float


def value_paths(scores: Floats, levels: Levels, rounds: Rounds = Rounds()) -> Floats:
    """The stream's value after every round of epochs [epochs, rounds]."""
    of_each = np.full(len(scores), levels.hourly), np.full(len(scores), levels.daily)
    return bets_paths(scores, *of_each, rounds_a_day=rounds.a_day, epoch_days=EPOCH_DAYS)


def proof(scores: Floats, levels: Levels, needs: float, rounds: Rounds = Rounds()) -> Proof:
    """Of an epoch that changes at its time; an alarm before that is no proof of the change."""
    (path,) = value_paths(scores[None], levels, rounds)
    proven = np.flatnonzero(path >= needs)
    if not proven.size or proven[0] < rounds.before:
        return Proof(np.inf, np.nan)
    seen = [Round(float(place), score) for place, score in enumerate(scores[: proven[0] + 1].tolist())]
    found = onset(seen, levels.hourly)
    return Proof(proven[0] + 1.0 - rounds.before, np.nan if found is None else abs(found.first - rounds.before))
