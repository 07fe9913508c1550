"""Which explanation fits the answers best: profiles, template changes, or something that is on no list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.cause import Cause
from monitor.drift.observation import Observation
from monitor.drift.residuals import residuals

SYSTEM_PROMPT = "system-prompt"
UNLISTED = "weights-unlisted"
# Residuals below this are all alike: printed digits and kernel builds (nats).
_FLOOR = 0.01
# A listed cause must explain half of the squared residual before it beats "something unlisted".
_UNLISTED_SHARE = 0.5
# Log-odds that a token count speaks for or against a cause: counts are exact, but providers round and cache.
_COUNT_ODDS = 12.0


def fit(observations: Sequence[Observation], candidates: Sequence[str]) -> dict[str, float]:
    """Root of the mean (over prompts) squared residual under each candidate, in nats, not below the floor.

    Only answers whose prompts were scored under every candidate count; empty where there is none.
    The part of a residual that all tokens of an answer share is left out: it is the normaliser's, moves with the
    tokens outside the list, and is the larger half of response noise.
    """
    prompts: dict[str, list[np.ndarray]] = defaultdict(list)
    for observation in _scored(observations, candidates):
        prompts[observation.item_key].append(_squares(observation, candidates))
    if not prompts:
        return {}
    per_prompt = np.array([np.mean(rows, axis=0) for _, rows in sorted(prompts.items())])
    return dict(zip(candidates, np.maximum(_FLOOR, np.sqrt(per_prompt.mean(axis=0))).tolist(), strict=True))


def _scored(observations: Sequence[Observation], candidates: Sequence[str]) -> list[Observation]:
    return [o for o in observations if o.reference_tokens and o.tokens and set(candidates) <= set(o.expected)]


def _squares(observation: Observation, candidates: Sequence[str]) -> np.ndarray:
    values = residuals(observation, candidates).values
    counted = np.where(np.isfinite(values), values, 0.0)
    seen = np.isfinite(values).sum(axis=1).clip(min=1)
    common = counted.sum(axis=1) / seen
    inside: np.ndarray = np.where(np.isfinite(values), (values - common[:, np.newaxis]) ** 2, 0.0).sum(axis=1) / seen
    return inside


@dataclass(frozen=True, slots=True)
class TokenSteps:
    """Prompt-token counts as evidence: by how many tokens each candidate differs from the one believed so far, and by
    how many the endpoint moved (None where it does not say, or not by a constant)."""

    expected: Mapping[str, int]
    observed: int | None

    def log_odds(self, candidate: str) -> float:
        if self.observed is None:
            return 0.0
        agrees = self.observed != 0 if candidate == SYSTEM_PROMPT else self.expected.get(candidate, 0) == self.observed
        return _COUNT_ODDS if agrees else 0.0


def rank(
    observations: Sequence[Observation], candidates: Sequence[str], *, held: str, settled: float, steps: TokenSteps
) -> tuple[Cause, ...]:
    """Weights of all candidates, best first.

    held: the candidate believed so far; settled: the residual (root mean square, nats) that needs no explanation. A
    candidate's likelihood is that of normal residuals of its own scale, one independent value a prompt. What no list
    can hold (another system prompt's text, other weights) competes as an explanation of half of the excess.
    """
    scales = fit(observations, candidates)
    if not scales:
        return ()
    prompts = len({o.item_key for o in _scored(observations, candidates)})
    log_weights = {name: -prompts * float(np.log(scale)) for name, scale in scales.items()}
    excess = scales[held] ** 2 - max(settled, _FLOOR) ** 2
    if excess > 0.0:
        unlisted = float(np.sqrt(scales[held] ** 2 - _UNLISTED_SHARE * excess))
        log_weights |= dict.fromkeys((SYSTEM_PROMPT, UNLISTED), -prompts * float(np.log(unlisted)))
    return _normalised({name: weight + steps.log_odds(name) for name, weight in log_weights.items()})


def _normalised(log_weights: Mapping[str, float]) -> tuple[Cause, ...]:
    names = sorted(log_weights, key=lambda name: (-log_weights[name], name))
    values = np.array([log_weights[name] for name in names])
    weights = np.exp(values - values.max())
    return tuple(Cause(name, float(w)) for name, w in zip(names, weights / weights.sum(), strict=True))
