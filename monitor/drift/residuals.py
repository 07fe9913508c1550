"""An answer against what the reference expects of it, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.observation import FloatArray, Observation


@dataclass(frozen=True, slots=True)
class Residuals:
    """Observed minus expected log-probability, in nats, of one answer under every candidate; shape [candidates, k].

    NaN where a token is missing from the answer's list in a way the candidate allows. A missing token is censored:
    its log-probability is at most the smallest one listed. A candidate that expects more than that is contradicted by
    the difference; one that expects less is not.
    """

    candidates: tuple[str, ...]
    values: FloatArray

    def of(self, candidate: str) -> FloatArray:
        row: FloatArray = self.values[self.candidates.index(candidate)]
        return row

    def deviation(self, candidate: str) -> float:
        """Mean absolute residual in nats; NaN where nothing could be compared."""
        counted = self.of(candidate)[np.isfinite(self.of(candidate))]
        return float(np.abs(counted).mean()) if counted.size else float("nan")


def residuals(observation: Observation, candidates: Sequence[str]) -> Residuals:
    """Compare one answer with each candidate over the reference's top-k, cut to as many tokens as the answer lists."""
    k = min(len(observation.reference_tokens), len(observation.tokens))
    listed = dict(zip(observation.tokens, observation.logprobs.tolist(), strict=True))
    tokens = observation.reference_tokens[:k]
    observed = np.array([listed.get(token, np.nan) for token in tokens], dtype=np.float64)
    rows = [observation.expected[name][:k] for name in candidates]
    expected = np.array(rows, dtype=np.float64).reshape(len(rows), k)
    values = observed[np.newaxis, :] - expected
    if k:
        bound = float(observation.logprobs.min()) - expected
        censored = np.isnan(observed)[np.newaxis, :]
        values = np.where(censored, np.where(bound < 0.0, bound, np.nan), values)
    return Residuals(tuple(candidates), values)


def steps(observation: Observation, base: str, candidates: Sequence[str], k: int) -> FloatArray:
    """Candidate minus base expectation of the first k reference tokens, in nats; shape [candidates, k]."""
    start = observation.expected[base][:k]
    rows = [observation.expected[name][:k] - start for name in candidates]
    return np.array(rows, dtype=np.float64).reshape(len(candidates), k)


def step_coefficients(residual: FloatArray, towards: FloatArray, *, limit: float = 3.0) -> FloatArray:
    """How far a residual [k] has gone along each step [candidates, k]: 0 at the base, 1 at the candidate.

    Least squares over the tokens counted, clipped to ±limit so that one odd answer cannot carry a run; 0 where a step
    is nil.
    """
    counted = np.isfinite(residual)
    rows = towards[:, counted]
    energy = (rows**2).sum(axis=1)
    along = rows @ residual[counted]
    return np.asarray(
        np.clip(np.where(energy > 1e-12, along / np.where(energy > 1e-12, energy, 1.0), 0.0), -limit, limit)
    )
