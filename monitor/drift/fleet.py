"""The stacks that were enrolled behind one endpoint, as a small value, and what each round's answers are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from monitor.drift.calibration import FEWEST_DAYS
from monitor.drift.evidence import Evidence, Scores, StreamKey
from monitor.drift.levels import DAY
from monitor.drift.mixtures import Answers, Mixture, Places
from monitor.drift.observation import FloatArray
from monitor.drift.rates import wilson
from monitor.drift.separation import Scatter

# Of a share from the enrolled one, and of the answers that are like none of the enrolled.
SHARE_DELTA, FAR_DELTA = 0.05, 0.02
VERSION = 1
# An answer is far from a stack beyond so many times the 99 % quantile of its lawful distances.
_FAR = 1.5
_QUANTILE = 0.99
_SEEN = 0.5
_DAY_QUANTILE = 0.999


@dataclass(frozen=True, slots=True)
class RoundShares:
    """One round at `at`, seconds since 1970. Of its `answers`, `far` are far from all stacks. `told` are those of each
    stack, of the `telling` ones: answers to prompts by which stacks are told apart, the far ones among them."""

    at: float
    told: tuple[int, ...]
    telling: int
    far: int
    answers: int

    def share(self, stack: int) -> float | None:
        return self.told[stack] / self.telling if self.telling else None

    @property
    def far_share(self) -> float | None:
        return self.far / self.answers if self.answers else None


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A prompt's places, and how far an answer may lie from the nearest, in root mean square scatters a token.
    `tells`: whether each stack has a cluster of its own there."""

    places: Places
    reach: float
    tells: bool

    def distances(self, values: FloatArray) -> tuple[FloatArray, np.ndarray]:
        """Root mean squares a token from each cluster, shape [answers, clusters], NaN where half of the tokens or more
        are missing; and which answers those are not."""
        seen = self.places.seen(values)
        enough = seen >= max(1.0, _SEEN * float(np.isfinite(self.places.centres).all(axis=0).sum()))
        roots = np.sqrt(self.places.squared(values) / np.maximum(seen, 1)[:, np.newaxis])
        return np.where(enough[:, np.newaxis], roots, np.nan), enough


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """lawful: the share of a round's answers that each stack may give on average, least: what it gave at enrolment at
    least; far: the share of answers that may be far from all stacks. `shares` are the enrolled ones."""

    shares: tuple[float, ...]
    least: tuple[float, ...]
    lawful: tuple[float, ...]
    far: float
    prompts: Mapping[str, Known]

    @classmethod
    def of(cls, found: Mixture, answers: Mapping[str, Answers], *, delta: float = SHARE_DELTA) -> Self:
        """From the answers that the mixture was found in. Lawful is the upper end of a share's 95 % interval, and δ."""
        prompts, far, count = {}, 0, 0
        for name, places in found.places.items():
            draft = Known(places, np.inf, name not in found.unlinked and _tells(places, len(found.stacks)))
            roots, enough = draft.distances(answers[name].values)
            nearest = roots[enough].min(axis=1)
            reach = _FAR * float(np.quantile(nearest, _QUANTILE)) if nearest.size else np.inf
            prompts[name] = replace(draft, reach=reach)
            far, count = far + int((nearest > reach).sum()), count + nearest.size
        return cls(
            tuple(one.share for one in found.stacks),
            tuple(one.interval.low for one in found.stacks),
            tuple(min(1.0, one.interval.high + delta) for one in found.stacks),
            min(1.0, wilson(far, count).high + FAR_DELTA),
            prompts,
        )

    def with_days(self, rounds: Sequence[RoundShares], *, delta: float = SHARE_DELTA) -> Self:
        """With levels that days which differ do not break, from enrolment's own rounds, where they hold seven days or
        more: a balancer may send more to one stack on some."""
        lawful = [
            max(level, _level([(one.at, one.share(stack)) for one in rounds], delta) or 0.0)
            for stack, level in enumerate(self.lawful)
        ]
        far = max(self.far, _level([(one.at, one.far_share) for one in rounds], FAR_DELTA) or 0.0)
        return replace(self, lawful=tuple(min(1.0, one) for one in lawful), far=min(1.0, far))

    def round(self, at: float, answers: Mapping[str, FloatArray]) -> RoundShares:
        """Answers by prompt, shape [answers, tokens] of the prompt's fixed tokens, NaN where missing; prompts that were
        not enrolled are left out."""
        told, telling, far, count = np.zeros(len(self.shares), dtype=np.int64), 0, 0, 0
        for name in sorted(answers.keys() & self.prompts.keys()):
            known = self.prompts[name]
            roots, enough = known.distances(answers[name])
            near = roots[enough].min(axis=1) <= known.reach
            far, count = far + int((~near).sum()), count + int(enough.sum())
            if known.tells:
                telling += int(enough.sum())
                cluster = np.argmin(roots[enough][near], axis=1)
                counts = np.bincount(cluster, minlength=len(known.places.centres))
                told += counts[list(known.places.cluster)]
        return RoundShares(at, tuple(told.tolist()), telling, far, count)

    def to_json(self) -> dict[str, Any]:
        """Plain values, which JSON keeps to the last bit."""
        return {
            "version": VERSION,
            "shares": list(self.shares),
            "least": list(self.least),
            "lawful": list(self.lawful),
            "far": self.far,
            "prompts": {name: _written(one) for name, one in self.prompts.items()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Raises ValueError for another version: enrol anew from the stored observations."""
        if value.get("version") != VERSION:
            raise ValueError(f"stacks of version {value.get('version')} are read by none but it; enrol them anew")
        shares, least, lawful = (tuple(value[name]) for name in ("shares", "least", "lawful"))
        return cls(shares, least, lawful, value["far"], {name: _read(one) for name, one in value["prompts"].items()})


def evidence(fleet: Fleet, key: StreamKey, found: RoundShares) -> tuple[Evidence, ...]:
    """A round as scores of one stream for each stack, its share, and one for the share of answers far from all: these
    streams find their own levels, as `score_stream` does."""
    shares = {f"stack-{k + 1}": found.share(k) for k in range(len(fleet.shares))} | {"unknown": found.far_share}
    return tuple(
        Evidence(key._replace(probe_set=f"{key.probe_set}/{name}"), found.at, Scores((share,)), found.answers)
        for name, share in shares.items()
        if share is not None
    )


def _tells(places: Places, stacks: int) -> bool:
    return len(set(places.cluster)) == stacks


def _level(values: Sequence[tuple[float, float | None]], delta: float) -> float | None:
    """The 99.9 % prediction bound of a day's mean share (Hahn & Meeker 1991), and δ above the mean of days at least;
    None of too few days."""
    from scipy.special import stdtrit

    known = [(at // DAY, share) for at, share in values if share is not None]
    if not known:
        return None
    days, shares = np.array(known).T
    _, cell, count = np.unique(days, return_inverse=True, return_counts=True)
    n = count.size
    if n < FEWEST_DAYS:
        return None
    means = np.bincount(cell, weights=shares) / count
    reach = float(stdtrit(n - 1, _DAY_QUANTILE) * means.std(ddof=1) * np.sqrt(1.0 + 1.0 / n))
    return float(means.mean()) + max(delta, reach)


def _written(one: Known) -> dict[str, Any]:
    places = one.places
    return {
        "centres": [[None if np.isnan(l) else l for l in centre] for centre in places.centres.tolist()],
        "own": places.scatter.own,
        "common": places.scatter.common,
        "cluster": list(places.cluster),
        "reach": one.reach,
        "tells": one.tells,
    }


def _read(value: Mapping[str, Any]) -> Known:
    centres = np.array(value["centres"], dtype=np.float64)
    scatter = Scatter(value["own"], value["common"])
    return Known(Places(centres, scatter, tuple(value["cluster"])), value["reach"], value["tells"])
