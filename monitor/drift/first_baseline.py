"""Each new baseline held against the first one for ever, so that a slow ramp cannot hide in re-baselining.

What a stream was re-based to in small steps may be far from where it began. Two questions: how much higher is the mean
score that is lawful now, and how far, in nats, are the log-probabilities that answers are scored against.

Each is asked once for every new baseline, for ever. The k-th comparison of a stream may be wrong with a chance of
α / (k (k + 1)), and these add up to α (Bonferroni, over as many as there will be): a stream that never changes is told
to have moved with a chance of at most 1 %, however often it is re-based.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from monitor.drift.calibration import whole_days
from monitor.drift.fingerprint import EnrolledPrompt, Enrolment
from monitor.drift.interval import Interval
from monitor.drift.levels import DAY, DAYS
from monitor.drift.observation import FloatArray
from monitor.drift.rule import LAWFUL_SHIFT
from monitor.drift.ruler import Reading, read
from monitor.drift.score_stream import Round
from monitor.drift.targets import small_model

ALPHA = 0.01
FEWEST_DAYS, FEWEST_PROMPTS = 3, 3
_SHOWN = 0.95
# Days or prompts that are all alike to the last bit still differ by this much.
_LEAST_ERROR = 1e-9


class Baseline(NamedTuple):
    """What a stream's levels came from; enrolment: what its answers are scored against, where it is known."""

    rounds: Sequence[Round]
    enrolment: Enrolment | None = None


@dataclass(frozen=True, slots=True)
class LevelMove:
    """Mean scores of days: of the first baseline, of the new one, how much higher that is, with its 95 % interval, and
    the p of its being higher by `margin` at most. `days`: of how many each."""

    first: float
    now: float
    value: float
    interval: Interval
    margin: float
    p: float
    days: tuple[int, int]


@dataclass(frozen=True, slots=True)
class MeansMove:
    """Mean |Δ| between the enrolled log-probabilities, in nats, over prompts, with its 95 % interval; `lawful`: what is
    noise, and the p of its being no more."""

    value: float
    interval: Interval
    lawful: float
    p: float
    prompts: int

    def reading(self, distances: Mapping[str, float]) -> Reading:
        """On the ruler, by profiles' distances from what the endpoint may run, on its prompts, in nats."""
        return read(self.value, self.interval, distances, lawful=LAWFUL_SHIFT)


@dataclass(frozen=True, slots=True)
class AgainstFirst:
    """The `comparison`-th of a stream, counted from 1. `level_at`, `means_at`: when the first baseline and the first
    enrolment ended, in seconds since 1970; None where there is no such comparison."""

    comparison: int
    level: LevelMove | None
    level_at: float | None
    means: MeansMove | None
    means_at: float | None

    @property
    def alpha(self) -> float:
        """Of each of its tests."""
        tests = (self.level is not None) + (self.means is not None)
        return share_of_error(self.comparison) / max(1, tests)

    @property
    def told(self) -> bool:
        """Whether it is told that the endpoint has moved since the first baseline."""
        return any(one is not None and one.p <= self.alpha for one in (self.level, self.means))

    def __str__(self) -> str:
        parts = [*_level_words(self.level), *_means_words(self.means)]
        far = "it has moved since the first baseline" if self.told else "no move since the first baseline is shown"
        return f"{far} (comparison {self.comparison}, α {self.alpha:.2g}): {'; '.join(parts)}"


def share_of_error(comparison: int) -> float:
    """Of `ALPHA`; those of all comparisons add up to it."""
    if comparison < 1:
        raise ValueError(f"comparisons are counted from 1, and this is {comparison}")
    return ALPHA / (comparison * (comparison + 1))


def level_move(first: Sequence[Round], now: Sequence[Round], *, days: int = DAYS, margin: float) -> LevelMove | None:
    """From rounds that were scored alike; the last `days` whole days of each count. None with fewer than three.

    Student's two-sample t (1908) of the means of days, as rounds of one day are not independent: exact where days of
    an unchanged endpoint are normal, and checked by simulation where they are not (docs/detection.md). `margin`: by so
    much more is lawful, δ of the stream's levels.
    """
    from scipy.special import stdtr, stdtrit

    before, after = _days(first, days), _days(now, days)
    if min(before.size, after.size) < FEWEST_DAYS:
        return None
    free = before.size + after.size - 2
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    error = max(_LEAST_ERROR, float(np.sqrt(squares / free * (1.0 / before.size + 1.0 / after.size))))
    value = float(after.mean() - before.mean())
    reach = float(stdtrit(free, (1.0 + _SHOWN) / 2.0)) * error
    return LevelMove(
        float(before.mean()),
        float(after.mean()),
        value,
        Interval(value - reach, value + reach, _SHOWN),
        margin,
        float(stdtr(free, -(value - margin) / error)),
        (before.size, after.size),
    )


def means_move(first: Enrolment, now: Enrolment) -> MeansMove | None:
    """Over prompts that both have, and of each the tokens that both fixed. None with fewer than three such prompts.

    The means' own noise is taken out in squares, as of other distances (`fidelity`): of the value that of so many
    answers; of the lower end and of what is lawful that of so many days, as if a day's answers all shared their noise.
    The interval and p are Student's t over prompts, of which each moves in a direction of its own.
    """
    from scipy.special import stdtr, stdtrit

    known = {one.prompt: one for one in first.prompts}
    pairs = [(known[one.prompt], one) for one in now.prompts if one.prompt in known]
    found = np.array([one for before, after in pairs if (one := _moved(before, after)) is not None])
    if found.shape[0] < FEWEST_PROMPTS:
        return None
    moved, noise, answers = found.T
    by_answers = float(np.mean(noise * np.sqrt(answers)))
    by_days = float(np.mean(noise)) * float(np.sqrt(1.0 / _whole(first) + 1.0 / _whole(now)))
    mean = float(moved.mean())
    error = max(_LEAST_ERROR, float(moved.std(ddof=1) / np.sqrt(moved.size)))
    reach = float(stdtrit(moved.size - 1, (1.0 + _SHOWN) / 2.0)) * error
    lawful = float(np.hypot(LAWFUL_SHIFT, by_days))
    value, interval = _without(mean, by_answers), Interval(_without(mean - reach, by_days), mean + reach, _SHOWN)
    p = float(stdtr(moved.size - 1, -(mean - lawful) / error))
    return MeansMove(value, interval, lawful, p, moved.size)


def _moved(before: EnrolledPrompt, after: EnrolledPrompt) -> tuple[float, float, float] | None:
    """Mean |Δ| over common tokens; the larger noise of an answer; and what of its square is left in the difference of
    the two means. None without a common token."""
    was = dict(zip(before.tokens, before.means, strict=True))
    steps = [mean - was[token] for token, mean in zip(after.tokens, after.means, strict=True) if token in was]
    if not steps:
        return None
    return float(np.abs(steps).mean()), max(before.noise, after.noise), 1.0 / before.answers + 1.0 / after.answers


def _whole(enrolment: Enrolment) -> int:
    """Days that its answers came on."""
    return int(enrolment.last_at // DAY - enrolment.first_at // DAY) + 1


def _without(value: float, noise: float) -> float:
    return float(np.sqrt(max(0.0, value**2 - noise**2))) if value > 0.0 else 0.0


def _days(rounds: Sequence[Round], days: int) -> FloatArray:
    at, scores = np.array(rounds, dtype=np.float64).reshape(-1, 2).T
    return whole_days(at, scores, days)


def _level_words(found: LevelMove | None) -> list[str]:
    if found is None:
        return []
    ends = f"{found.interval.low:+.3f} to {found.interval.high:+.3f}"
    return [f"mean score {found.first:.3f} then, {found.now:.3f} now, {found.value:+.3f} ({ends}; p {found.p:.2g})"]


def _means_words(found: MeansMove | None) -> list[str]:
    if found is None:
        return []
    ends = f"{found.interval.low:.3f} to {found.interval.high:.3f}"
    ruler = f"{found.reading(small_model()).text}, by a small model's figures"
    return [f"log-probabilities {found.value:.3f} nat away ({ends}; p {found.p:.2g}): {ruler}"]
