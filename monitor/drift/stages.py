"""Screen, then confirm on fresh data: what steers the repeats of a suspicion, and never the verdict itself."""

from __future__ import annotations

from enum import StrEnum

# Together at most 4·10⁻⁵ false confirmations a run of an unchanged endpoint.
SCREEN_P, CONFIRM_P = 0.02, 0.002
# What the evidence calls it.
STAGE = "stage"


class Stage(StrEnum):
    CLEAR = "clear"
    HIT = "hit"  # to be confirmed by answers that the screen has not seen
    DISMISSED = "dismissed"
    CONFIRMED = "confirmed"


def screen(p: float) -> Stage:
    return Stage.HIT if p <= SCREEN_P else Stage.CLEAR


def confirm(p: float) -> Stage:
    """After a hit; p is of the fresh answers alone, by the test that hit."""
    return Stage.CONFIRMED if p <= CONFIRM_P else Stage.DISMISSED
