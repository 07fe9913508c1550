"""Has the sampler changed since it was enrolled? For endpoints of which it cannot be said exactly: a model's defaults
are applied to what is asked, or no log-probabilities come and the reference's have to do (DETECTION.md §2.3, T4).

What draws are expected to be is not known then, only that it stays as it was. Of each draw the log of its cell's chance
is taken, less its mean under the chances stated: its *likeliness*. A lower temperature, a nucleus and a short list
raise it, a higher temperature lowers it. Its mean at enrolment, prompt by prompt, is taken off, whatever it was.

Either way is a stream of its own: of a round's standardised mean z the score is min(1, max(0, ±z) / 4). The null is
that its mean stays at the level that the endpoint's own days gave (calibration.py); the scores are no e-values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from monitor.drift.draws import Cells, Draws, of_came
from monitor.drift.evidence import Evidence, Inapplicable, Scores, StreamKey
from monitor.drift.observation import FloatArray

# Standard deviations of a round's mean that are as bad as can be.
WORST = 4.0
# Of a prompt at enrolment: fewer say too little of its mean.
FEWEST = 25


@dataclass(frozen=True, slots=True)
class EnrolledSampler:
    """likeliness: its mean by prompt, nat."""

    likeliness: Mapping[int, float]


class Moved(NamedTuple):
    """Draws are likelier than at enrolment, or less likely: two streams, of which a change moves one."""

    narrower: Evidence
    wider: Evidence


def likeliness(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Of each draw, nat, and its variance under the stated chances; [n] each. The rest counts as its likeliest token
    may: as the least of the others."""
    listed = np.where(cells.p[:, :-1] > 0.0, cells.p[:, :-1], np.inf)
    least = np.minimum(listed.min(axis=1, keepdims=True), 1.0)
    logs = np.log(np.concatenate([np.minimum(listed, 1.0), least], axis=1))
    mean = (cells.p * logs).sum(axis=1)
    variance = (cells.p * (logs - mean[:, np.newaxis]) ** 2).sum(axis=1)
    return of_came(logs, cells.came) - mean, np.asarray(variance)


def enrolled(draws: Draws) -> EnrolledSampler:
    """Raises ValueError where draws cannot be read (`Draws.why_not`), or a prompt has fewer than 25."""
    if (why := draws.why_not) is not None:
        raise ValueError(f"draws that cannot be read enrol nothing: {why}")
    values, _ = likeliness(Cells.of(draws))
    prompts, place, counts = np.unique(draws.prompts, return_inverse=True, return_counts=True)
    if counts.min() < FEWEST:
        raise ValueError(f"a prompt has {counts.min()} draws at enrolment: ask each {FEWEST} times at least")
    means = np.bincount(place, weights=values) / counts
    return EnrolledSampler(dict(zip(prompts.tolist(), means.tolist(), strict=True)))


def standardised(draws: Draws, at_enrolment: EnrolledSampler) -> float | None:
    """A round's mean likeliness above that of enrolment, in standard deviations; None where it has none."""
    cells = Cells.of(draws)
    values, variances = likeliness(cells)
    before = np.array([at_enrolment.likeliness.get(prompt, np.nan) for prompt in draws.prompts.tolist()])
    known = ~np.isnan(before)
    variance = float(variances[known].sum())
    return float((values - before)[known].sum() / np.sqrt(variance)) if variance > 0.0 else None


def of_past(stream: StreamKey, at: float, draws: Draws, at_enrolment: EnrolledSampler, *, tokens: int = 0) -> Moved:
    """draws: with the endpoint's own log-probabilities, or with the reference's of the same prompts and tokens. Prompts
    that were not enrolled count nothing."""
    why = draws.why_not
    z = standardised(draws, at_enrolment) if why is None else None
    keys = [stream._replace(probe_set=f"{stream.probe_set}/{way}") for way in Moved._fields]
    if z is None:
        says = Inapplicable(why or "no draw of a prompt that was enrolled and has more than one answer")
        return Moved(*(Evidence(key, at, says, len(draws), tokens) for key in keys))
    reason = f"draws are {abs(z):.1f} standard deviations {'likelier' if z > 0 else 'less likely'} than at enrolment"
    scores = (Scores((min(1.0, max(0.0, side) / WORST),)) for side in (z, -z))
    return Moved(*(Evidence(k, at, says, len(draws), tokens, (reason,)) for k, says in zip(keys, scores, strict=True)))
