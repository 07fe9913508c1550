"""Are tokens drawn as the endpoint says that it draws them? An exact test that needs no reference (DETECTION.md §2.3,
T4).

Under the null a token y is drawn from the distribution p that comes with it; then q(y) / p(y) has mean 1 for any other
distribution q, whatever the model (Grünwald, de Heide & Koolen 2024). The q are what samplers make of p: another
temperature, a nucleus, a shorter list, a penalty. Ratios are multiplied over draws for each of them, and the products
averaged. It holds for log-probabilities as they are before the sampler, at a requested temperature of 1 and no other
setting.

Reported log-probabilities with an error of ε nat at most are divided by the largest chance that they may stand for, so
the mean is at most 1; evidence for a change is less by about ε a draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from monitor.drift.draws import Cells, Draws, of_came
from monitor.drift.evidence import Combining, Evidence, Factors, Inapplicable, Null, StreamKey
from monitor.drift.observation import FloatArray

# Of the rest's chance: how far it falls with a lower temperature, rises with a higher one, and falls with a short list.
COLDER_REST, HOTTER_REST, CUT_REST = 0.8, 1.15, 0.3
# What a nucleus leaves to p, so that a token outside of it does not end the test.
NUCLEUS_KEEPS = 0.1
PENALTY = 1.0  # nat
# A property of the endpoint, by as much evidence as drift needs.
FIRED_AT = 1_000.0
_MOST_NATS = 600.0


@dataclass(frozen=True, slots=True)
class Alternative:
    """What a sampler would make of p: `of` gives the chances of the cells, in the shape of `Cells.p`; they sum to 1."""

    name: str
    of: Callable[[Cells], FloatArray]


def _tempered(cells: Cells, temperature: float) -> FloatArray:
    """Within the list; the rest, which is no single token, is scaled."""
    scale = COLDER_REST if temperature < 1.0 else HOTTER_REST
    rest = np.minimum(scale * cells.rest, (1.0 + cells.rest) / 2.0)
    return _joined(cells.p[:, :-1] ** (1.0 / temperature), rest)


def _nucleus(cells: Cells, share: float) -> FloatArray:
    """The likeliest tokens whose chances reach the share, of the rest as much as is missing. Tokens that are equally
    likely are all kept or none: which of them is listed first may depend on the one that came."""
    listed = cells.p[:, :-1]
    likelier = ((listed[:, np.newaxis] > listed[:, :, np.newaxis]) * listed[:, np.newaxis]).sum(axis=2)
    rest = np.clip(share - listed.sum(axis=1), 0.0, cells.rest)
    kept = np.column_stack([np.where(likelier < share, listed, 0.0), rest])
    return np.asarray((1.0 - NUCLEUS_KEEPS) * kept / kept.sum(axis=1, keepdims=True) + NUCLEUS_KEEPS * cells.p)


def _cut(cells: Cells) -> FloatArray:
    return _joined(cells.p[:, :-1], CUT_REST * cells.rest)


def _penalised(cells: Cells) -> FloatArray:
    """What the prompt holds is less likely: p where nobody looked what it holds."""
    return _joined(cells.p[:, :-1] * np.exp(-PENALTY * cells.seen[:, :-1]), cells.rest)


def _joined(listed: FloatArray, rest: FloatArray) -> FloatArray:
    total = listed.sum(axis=1, keepdims=True)
    of_rest = np.where(total > 0.0, rest[:, np.newaxis], 1.0)
    return np.concatenate([listed / np.where(total > 0.0, total, 1.0) * (1.0 - of_rest), of_rest], axis=1)


ALTERNATIVES = (
    *(Alternative(f"temperature {at:g}", partial(_tempered, temperature=at)) for at in (0.7, 0.85, 0.93, 1.07, 1.15)),
    *(Alternative(f"top_p {share:g}", partial(_nucleus, share=share)) for share in (0.9, 0.95)),
    Alternative("a short list: top_k or min_p", _cut),
    Alternative("a penalty on what the prompt holds", _penalised),
)


def log_ratios(cells: Cells) -> FloatArray:
    """log q(y) / p(y) of each draw under each alternative, nat, [n, alternatives]; p at its upper bound."""
    most = np.log(of_came(cells.most, cells.came))
    with np.errstate(divide="ignore"):
        return np.stack([np.log(of_came(each.of(cells), cells.came)) - most for each in ALTERNATIVES], axis=1)


def factors_of(log_ratios: FloatArray) -> tuple[float, ...]:
    """Multiplied over draws, [n, alternatives]; cut above, which makes no mean larger."""
    return tuple(np.exp(np.minimum(log_ratios.sum(axis=0), _MOST_NATS)).tolist())


def of_sampler(stream: StreamKey, at: float, draws: Draws, *, tokens: int = 0) -> Evidence:
    """A round's draws, one factor an alternative."""
    if (why := draws.why_not) is not None:
        return Evidence(stream, at, Inapplicable(why), len(draws), tokens)
    factors = factors_of(log_ratios(Cells.of(draws)))
    best = int(np.argmax(factors))
    reasons = (f"likeliest of the alternatives: {ALTERNATIVES[best].name}",) if factors[best] > 1.0 else ()
    return Evidence(stream, at, Factors(factors, Null.STATED, Combining.EACH), len(draws), tokens, reasons)


@dataclass(frozen=True, slots=True)
class Fired:
    """What the sampler does to every request that says nothing of it, as a model's generation_config sets it: found at
    enrolment, a property and no drift. `alternative` is the likeliest one's name, `evidence` the average product."""

    alternative: str
    evidence: float


def fired(draws: Draws) -> Fired | None:
    """None where the endpoint's draws at enrolment are as it says, or nothing can be said; then `of_sampler` watches
    it. Otherwise it would go on firing: `sampler_past.of_past` watches for a change against what was enrolled."""
    if draws.why_not is not None:
        return None
    factors = factors_of(log_ratios(Cells.of(draws)))
    evidence = sum(factors) / len(factors)
    if evidence < FIRED_AT:
        return None
    return Fired(ALTERNATIVES[int(np.argmax(factors))].name, evidence)
