"""Sequential likelihood ratios: were sampled tokens drawn by a candidate (int8, another template, another temperature)
rather than by any allowed profile or member of its noise cloud?

With p_k(x) a candidate's and p_a(x) an allowed hypothesis' chance of a sampled token given all before it,

    E_t = q_1(x_1) … q_t(x_t) / max_a Π_{s ≤ t} p_a(x_s),

where q_s is fixed before x_s is seen (running likelihood ratio of universal inference; Wasserman, Ramdas & Balakrishnan
2020, PNAS 117:16880). q is a Bayes mixture: allowed up to some token of the epoch and one candidate from there on, each
such story with an equal stake, as `Wealth` does. Without it a change would first have to win back what the candidates
lost while nothing was wrong.

**Where the mean is at most 1.** For each single allowed hypothesis a the maximum is at least a's own likelihood, so
E_t ≤ Π q_s(x_s) / p_a(x_s), a nonnegative supermartingale from 1: tokens drawn by a give E a mean of at most 1 at every
time of stopping, and P(E ever reaches 1/α) ≤ α (Ville). Gains are cut from above at `clip` nats a token: that puts a
smaller q_s in place of q_s, and the bound stays. Log-likelihoods are raised to −40 nat: below the line that is in the
null's favour, above it all a vocabulary's floors are charged to each token.

**Where it is not.** Where losses are cut from below. Where tokens are drawn by what is no column, such as noise outside
the cloud. Where noise is drawn anew at each token, unless `token_mixture` of the cloud is a column. Where factors
E_t / E_{t−1} are fed to a process that multiplies: given the past their mean may be above 1, as the maximum moves; E
itself counts. Where chances add up to more than 1 over the vocabulary. `lawful_replays` decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from monitor.drift.cause import Cause
from monitor.drift.observation import FloatArray
from monitor.drift.sequential import MOST_WEALTH

FLOOR = -40.0
# Floors of a vocabulary of up to 2^20 tokens add up to this much beyond 1.
_CHARGE = float(np.log1p(2.0**20 * np.exp(FLOOR)))
_ROUNDING = 1e-6
ALLOWED = "allowed"


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The columns of log-likelihoods, candidates first. allowed: profiles and members of their noise cloud. horizon:
    tokens of an epoch; a change may begin at any of them. clip: the most nats that one token may add."""

    candidates: tuple[str, ...]
    allowed: tuple[str, ...]
    horizon: int = 20_000
    clip: float = 2.0

    def __post_init__(self) -> None:
        names = self.candidates + self.allowed
        if not self.candidates or not self.allowed:
            raise ValueError(f"at least one candidate and one allowed hypothesis are needed: {names}")
        if len(set(names)) < len(names):
            raise ValueError(f"hypotheses need names of their own: {names}")
        if self.horizon < 1 or not self.clip > 0.0:
            raise ValueError(f"horizon {self.horizon} is at least 1 token, and clip {self.clip} above 0 nats")


@dataclass(frozen=True, slots=True)
class LikelihoodRatio:
    """E so far, and what the next token needs. `candidates` and `allowed` are total log-likelihoods; `stakes` are, for
    each candidate, log Σ_j (stake at j) Π_{s < j} (allowed / candidate). The fold of `after` over tokens, bit for bit,
    however they come in blocks."""

    hypotheses: Hypotheses
    tokens: int
    log_value: float
    candidates: tuple[float, ...]
    allowed: tuple[float, ...]
    stakes: tuple[float, ...]

    @classmethod
    def start(cls, hypotheses: Hypotheses) -> Self:
        among, allowed = len(hypotheses.candidates), len(hypotheses.allowed)
        return cls(hypotheses, 0, 0.0, (0.0,) * among, (0.0,) * allowed, (-np.inf,) * among)

    @property
    def value(self) -> float:
        return float(min(MOST_WEALTH, np.exp(min(700.0, self.log_value))))

    def after(self, log_likelihoods: FloatArray) -> Self:
        """log_likelihoods: of the sampled tokens given all before them, in nats, shape [tokens, candidates + allowed].

        NaN: a candidate's was not computed; it then counts as what the allowed ones expect, and nothing is said for or
        against it. Which are computed must not depend on the token. Raises ValueError for another shape, for values
        above 0, and where an allowed one is NaN: the null must be known throughout.
        """
        walk = _walk(self, checked(self.hypotheses, log_likelihoods, 2))
        return type(self)(
            self.hypotheses,
            self.tokens + len(log_likelihoods),
            float(walk.log_values[-1]),
            tuple(walk.candidates[-1].tolist()),
            tuple(walk.allowed[-1].tolist()),
            tuple(walk.stakes[-1].tolist()),
        )

    def gains(self) -> Mapping[str, float]:
        """By how many nats each candidate, from whatever token on, explains the tokens better than the allowed one that
        explains them best; every start has the same share of belief, and there may have been none. Ranks; no bound."""
        if not self.tokens:
            return dict.fromkeys(self.hypotheses.candidates, 0.0)
        staked = np.log(min(self.tokens, self.hypotheses.horizon) / self.hypotheses.horizon)
        totals = np.array(self.candidates) + np.array(self.stakes) + np.log(len(self.candidates)) - staked
        return dict(zip(self.hypotheses.candidates, (totals - max(self.allowed)).tolist(), strict=True))

    def belief(self) -> tuple[Cause, ...]:
        """Shares of belief in the candidates, and in `ALLOWED` that there was no change; best first."""
        logs = np.append(np.array(self.candidates) + np.array(self.stakes), _unchanged(self))
        weights = np.exp(logs - logs.max())
        named = zip((*self.hypotheses.candidates, ALLOWED), (weights / weights.sum()).tolist(), strict=True)
        return tuple(Cause(name, weight) for name, weight in sorted(named, key=lambda one: (-one[1], one[0])))


def ratio_paths(hypotheses: Hypotheses, log_likelihoods: FloatArray) -> FloatArray:
    """log E after every token of many streams at once, to the last bit as `LikelihoodRatio`: shape [streams, tokens] of
    log-likelihoods [streams, tokens, candidates + allowed]."""
    start = LikelihoodRatio.start(hypotheses)
    return _walk(start, checked(hypotheses, log_likelihoods, 3)).log_values[..., 1:]


def token_mixture(members: FloatArray) -> FloatArray:
    """The column of noise that is drawn anew at each token from a cloud: the members' mean chance, as a log. Members
    [..., members] give [...]."""
    return np.asarray(np.logaddexp.reduce(members, axis=-1) - np.log(members.shape[-1]))


class _Walk(NamedTuple):
    """After each token, the state before the first included; [..., tokens + 1] and one more axis of hypotheses."""

    log_values: FloatArray
    candidates: FloatArray
    allowed: FloatArray
    stakes: FloatArray


def _walk(begun: LikelihoodRatio, values: FloatArray) -> _Walk:
    among = len(begun.candidates)
    tokens = begun.tokens + np.arange(values.shape[-2] + 1)
    allowed = _summed(begun.allowed, values[..., among:])
    unchanged = _mixture(allowed)
    step = np.diff(unchanged)[..., np.newaxis]
    own = values[..., :among]
    candidates = _summed(begun.candidates, np.where(np.isnan(own), step, own))
    # A stake is put in before its token; until then it went as the allowed ones did.
    stake = _log(tokens[:-1] < begun.hypotheses.horizon) - np.log(begun.hypotheses.horizon * among)
    put = stake[:, np.newaxis] + unchanged[..., :-1, np.newaxis] - candidates[..., :-1, :]
    stakes = np.logaddexp.accumulate(_led_by(begun.stakes, put), axis=-2)
    numerator = np.logaddexp(
        _left(begun.hypotheses, tokens) + unchanged, np.logaddexp.reduce(candidates + stakes, axis=-1)
    )
    gained = np.diff(numerator) - np.diff(allowed.max(axis=-1)) - _CHARGE
    clipped = np.minimum(begun.hypotheses.clip, gained)
    log_values = _summed((begun.log_value,), clipped[..., np.newaxis])[..., 0]
    return _Walk(log_values, candidates, allowed, stakes)


def _unchanged(state: LikelihoodRatio) -> float:
    left = _left(state.hypotheses, np.array(state.tokens))
    return float(left + _mixture(np.array(state.allowed)))


def _left(hypotheses: Hypotheses, tokens: np.ndarray) -> FloatArray:
    """Log of the stake that waits after so many tokens."""
    return _log(1.0 - np.minimum(tokens, hypotheses.horizon) / hypotheses.horizon)


def _mixture(allowed: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp.reduce(allowed, axis=-1) - np.log(allowed.shape[-1]))


def _log(values: np.ndarray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values.astype(np.float64)))


def _led_by(first: tuple[float, ...], rows: FloatArray) -> FloatArray:
    start = np.broadcast_to(np.array(first), (*rows.shape[:-2], 1, len(first)))
    return np.concatenate([start, rows], axis=-2)


def _summed(first: tuple[float, ...], rows: FloatArray) -> FloatArray:
    """Added up one by one, so that blocks of any size give the same bits."""
    return np.asarray(np.add.accumulate(_led_by(first, rows), axis=-2))


def checked(hypotheses: Hypotheses, values: FloatArray, axes: int) -> FloatArray:
    """Log-likelihoods [..., tokens, candidates + allowed] of so many axes, raised to the floor. Raises ValueError as
    `LikelihoodRatio.after` does."""
    columns = len(hypotheses.candidates) + len(hypotheses.allowed)
    if values.ndim != axes or values.shape[-1] != columns:
        raise ValueError(f"log-likelihoods of {columns} hypotheses a token are needed, not an array {values.shape}")
    if np.isnan(values[..., len(hypotheses.candidates) :]).any():
        raise ValueError("an allowed hypothesis has no log-likelihood for some token; leave the token out")
    if (largest := float(np.nanmax(values, initial=0.0))) > _ROUNDING:
        raise ValueError(f"a log-likelihood is at most 0 nats, and one is {largest}")
    return np.clip(values, FLOOR, 0.0)
