"""What is found of one parameter, and how far each finding may be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

# A finding is made only where its error is at most this. An accusation has to be safer than an acquittal.
ALPHA_ACTS = 0.01
ALPHA_IGNORED = 0.001


class Effect(StrEnum):
    ACTS = "acts"
    REFUSED = "refused"
    IGNORED = "ignored"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`aspect` tells the experiments on one parameter apart. `counts` is what was seen, with what was excluded and why.

    `error` bounds the probability of this finding where it is false: of ACTS at an endpoint that ignores the
    parameter, of IGNORED at one that honours it. REFUSED is what the endpoint said itself; it and UNCLEAR have none.
    """

    parameter: str
    aspect: str
    effect: Effect
    reason: str
    counts: Mapping[str, int] = field(default_factory=dict)
    error: float | None = None
