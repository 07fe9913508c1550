"""T1: what an endpoint's first-token log-probabilities were at enrolment, as a value to store and to score against."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from monitor.drift.deviations import caps, mean_deviations
from monitor.drift.evidence import Inapplicable, NotYet
from monitor.drift.listing import Listing, TokenSet, Usable, bounds, log_odds, residuals
from monitor.drift.observation import FloatArray
from monitor.drift.steadiness import day_means, moved_p

# Answers of each prompt, and the share of them that a token has to be in.
LEAST_ANSWERS = 200
_PRESENT = 0.8
_UNSTEADY_P = 0.005
_VERSION = 1


@dataclass(frozen=True, slots=True)
class EnrolledPrompt:
    """tokens: V_k, likeliest first, and their mean log-probabilities in nats; listed: the k that four lists of five
    have at least. cap: c_k, the deviation that scores 1; noise: the mean deviation of the baseline's own answers; both
    in nats. odds_…: the same of log-odds against the first token, None where it is the only one."""

    prompt: str
    tokens: tuple[bytes, ...]
    means: tuple[float, ...]
    listed: int
    answers: int
    cap: float
    noise: float
    odds_cap: float | None
    odds_noise: float | None

    @property
    def fixed(self) -> TokenSet:
        return TokenSet(self.tokens, self.listed)


@dataclass(frozen=True, slots=True)
class Enrolment:
    """`first_at` and `last_at`: when its answers came, in seconds since 1970. `left_out`: prompts of which no token
    comes in four of five answers; they say nothing."""

    prompts: tuple[EnrolledPrompt, ...]
    first_at: float
    last_at: float
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.prompts:
            raise ValueError("an enrolment is of one prompt at least")

    @property
    def noise(self) -> float:
        """Mean deviation of one answer while nothing changed, in nats."""
        return sum(one.noise for one in self.prompts) / len(self.prompts)

    @property
    def odds_noise(self) -> float | None:
        """The same of log-odds; None where there are none."""
        known = [one.odds_noise for one in self.prompts if one.odds_noise is not None]
        return sum(known) / len(known) if known else None

    def to_json(self) -> str:
        """Every float as the shortest decimal that gives it back to the last bit."""
        prompts = [{**asdict(one), "tokens": [token.hex() for token in one.tokens]} for one in self.prompts]
        written = {**asdict(self), "version": _VERSION, "prompts": prompts}
        return json.dumps(written, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError for anything `to_json` did not write."""
        try:
            read: dict[str, Any] = json.loads(text)
            if read["version"] != _VERSION:
                raise ValueError(f"version {read['version']}")
            prompts = tuple(_enrolled(**one) for one in read["prompts"])
            return cls(prompts, read["first_at"], read["last_at"], tuple(read["left_out"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is no enrolment that can be read ({error}): enrol anew from the answers") from error


def _enrolled(*, tokens: list[str], means: list[float], **others: Any) -> EnrolledPrompt:
    if len(tokens) != len(means):
        raise ValueError(f"{len(tokens)} tokens have {len(means)} means")
    return EnrolledPrompt(tokens=tuple(map(bytes.fromhex, tokens)), means=tuple(means), **others)


def enrol(listings: Iterable[Listing]) -> Enrolment | NotYet | Inapplicable:
    """From 200 usable answers to every prompt, or more, in any order.

    `NotYet`: there are fewer, or log-probabilities moved within them (`steadiness.moved_p`), so that their means would
    blend what was before with what is now. `Inapplicable`: no answer brings any, or no token comes in four of five.
    """
    of_prompt: dict[str, list[tuple[float, Usable]]] = {}
    for listing in listings:
        of_prompt.setdefault(listing.prompt, []).append((listing.at, listing.usable))
    if not of_prompt:
        return NotYet(f"too few yet: no answers, and {LEAST_ANSWERS} of each prompt are needed")
    # Sorted, so that the sums below do not hang on the order in which answers were read.
    usable = {prompt: sorted(one for one in of_prompt[prompt] if one[1].values) for prompt in sorted(of_prompt)}
    asked = sum(map(len, of_prompt.values()))
    if not any(usable.values()):
        return Inapplicable(f"none of {asked} answers brought log-probabilities")
    fewest = min(usable, key=lambda prompt: (len(usable[prompt]), prompt))
    if len(usable[fewest]) < LEAST_ANSWERS:
        return NotYet(
            f"too few yet: {len(usable[fewest])} answers to {fewest} with log-probabilities, "
            f"and {LEAST_ANSWERS} of each prompt are needed"
        )
    return _enrolment(usable)


def _enrolment(usable: dict[str, list[tuple[float, Usable]]]) -> Enrolment | NotYet | Inapplicable:
    prompts: list[EnrolledPrompt] = []
    days: list[FloatArray] = []
    times = sorted(at for answers in usable.values() for at, _ in answers)
    for prompt, answers in usable.items():
        lists = [one for _, one in answers]
        if tokens := _fixed(lists):
            one, found = _prompt(prompt, lists, tokens)
            prompts.append(one)
            days.append(day_means(np.array([at for at, _ in answers]), found))
    if not prompts:
        return Inapplicable(f"no token is listed in {_PRESENT:.0%} of the answers to any prompt")
    p = moved_p(days)
    if p is not None and p <= _UNSTEADY_P:
        return NotYet(f"log-probabilities moved within the baseline (p {p:.4f}): later answers are needed")
    return Enrolment(
        tuple(prompts), times[0], times[-1], tuple(sorted(usable.keys() - {one.prompt for one in prompts}))
    )


def _fixed(lists: list[Usable]) -> dict[bytes, float]:
    """V_k with its means: tokens in four of five answers, no more than four of five answers list, likeliest first."""
    values: dict[bytes, list[float]] = {}
    for usable in lists:
        for token, value in usable.values:
            values.setdefault(token, []).append(value)
    means = {
        token: float(np.mean(seen)) for token, seen in sorted(values.items()) if len(seen) >= _PRESENT * len(lists)
    }
    return dict(sorted(means.items(), key=lambda one: -one[1])[: _listed(lists)])


def _listed(lists: list[Usable]) -> int:
    return int(np.quantile([usable.listed for usable in lists], 1.0 - _PRESENT, method="lower"))


def _prompt(prompt: str, lists: list[Usable], fixed: dict[bytes, float]) -> tuple[EnrolledPrompt, FloatArray]:
    """And the residuals of the answers from their own means, [answers, tokens]."""
    means, of = np.array(list(fixed.values())), TokenSet(tuple(fixed), _listed(lists))
    found = bounds(lists, [of] * len(lists), len(fixed))
    plain = residuals(found, means)
    cap, noise = _spread(plain)
    odds = _spread(residuals(log_odds(found), means[1:] - means[0])) if len(fixed) > 1 else (None, None)
    return EnrolledPrompt(prompt, of.tokens, tuple(means.tolist()), of.listed, len(lists), cap, noise, *odds), plain


def _spread(found: FloatArray) -> tuple[float, float]:
    """c_k and the mean deviation. Each token is in four of five answers, so that most can be compared."""
    deviations = mean_deviations(found)
    return float(caps(deviations)), float(np.nanmean(deviations))
