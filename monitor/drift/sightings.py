"""What was seen of features of a change, as likelihoods of their states; what was not seen is never "same"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from monitor.drift.features import ENDS, STATES, Feature

# Likelihoods of states differ by e^30 at most: no single feature decides alone.
_MOST = 30.0
# Below this, in nats, all states are as likely, and nothing was seen.
_SAYS = 0.1


@dataclass(frozen=True, slots=True)
class Sighting:
    """Log-likelihoods of a feature's states, in the order of STATES, up to a constant."""

    feature: Feature
    logs: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.logs) != len(STATES[self.feature]):
            raise ValueError(f"{self.feature} has states {tuple(STATES[self.feature])}, not {len(self.logs)} of them")
        if not all(np.isfinite(self.logs)):
            raise ValueError(f"likelihoods of {self.feature} are finite: {self.logs}; leave out what was not seen")

    @classmethod
    def of(cls, feature: Feature, logs: Mapping[str, float]) -> Self:
        """Log-likelihoods by state, of every state that was looked for, as the log e-values of T4's alternatives are
        beside 0 for as asked; those not looked for get the average of the others, which says nothing of them."""
        if not logs or not set(logs) <= set(STATES[feature]):
            raise ValueError(f"{feature} has states {tuple(STATES[feature])}, and was given {tuple(logs)}")
        mean = float(np.logaddexp.reduce(list(logs.values())) - np.log(len(logs)))
        values = np.array([logs.get(state, mean) for state in STATES[feature]])
        return cls(feature, tuple(np.maximum(values, values.max() - _MOST).tolist()))

    @classmethod
    def certain(cls, feature: Feature, state: str, sure: float = 0.99) -> Self:
        """One state was seen, as with counts; the others share 1 − sure."""
        others = len(STATES[feature]) - 1
        if state not in STATES[feature] or not 1.0 / (others + 1) <= sure < 1.0:
            raise ValueError(
                f"{feature} has states {tuple(STATES[feature])}, one of which is sure from an even share up to 1: "
                f"{state}, {sure}"
            )
        wrong = float(np.log((1.0 - sure) / others))
        return cls.of(feature, dict.fromkeys(STATES[feature], wrong) | {state: float(np.log(sure))})

    @classmethod
    def sized(cls, feature: Feature, value: float, error: float) -> Self:
        """A size, in the feature's unit, with its standard error: the chance of each state's range under a normal
        value and a flat prior. Raises ValueError for a feature without sizes, and unless error is above 0."""
        from scipy.special import ndtr

        if feature not in ENDS:
            raise ValueError(f"{feature} has no sizes; those that have: {', '.join(ENDS)}")
        if not np.isfinite(value) or not 0.0 < error < np.inf:
            raise ValueError(f"a size is finite, and its error above 0: {value} ± {error}")
        ends = (np.array(ENDS[feature]) - value) / error
        chances = np.diff(ndtr(np.concatenate([[-np.inf], ends, [np.inf]])))
        return cls(feature, tuple(np.log(np.maximum(chances, chances.max() * np.exp(-_MOST))).tolist()))

    @classmethod
    def tested(cls, feature: Feature, e_value: float) -> Self:
        """A feature of two states from an e-value against the first: its bet's likelihood ratio. At 1 nothing is said:
        a test that saw too little does not show that nothing moved."""
        if len(STATES[feature]) != 2 or not e_value >= 0.0:
            raise ValueError(f"an e-value of at least 0 is of a feature with two states: {feature}, {e_value}")
        log = float(np.log(max(e_value, np.exp(-_MOST))))
        return cls(feature, (0.0, min(_MOST, log)))

    @property
    def says(self) -> bool:
        return max(self.logs) - min(self.logs) > _SAYS

    @property
    def state(self) -> str:
        """The likeliest."""
        return tuple(STATES[self.feature])[int(np.argmax(self.logs))]

    @property
    def words(self) -> str:
        return STATES[self.feature][self.state]
