"""What is lawful for a stream, as values that are read without the statistics that find them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DAY = 86_400.0
BLOCKS = 4  # of six hours, in a day
DAYS = 14
# Blocks of a day without which it does not count.
FEWEST_BLOCKS = 3


class Standing(StrEnum):
    READY = "ready"
    TOO_SHORT = "too_short"  # more days are to come
    UNSTEADY = "unsteady"  # it moved while it was calibrated: later days may do
    TOO_NOISY = "too_noisy"  # inapplicable


@dataclass(frozen=True, slots=True)
class Noise:
    """Mean lawful score, and the standard deviation around it: of a round within its block, of a block within its day
    and of a day, each as it was seen, noise of the finer ones included. Zero where there was nothing to see."""

    mean: float
    rounds: float
    blocks: float
    days: float


@dataclass(frozen=True, slots=True)
class Levels:
    """The null: the mean score of every block stays at or below `hourly`, that of all days at or below `daily`."""

    hourly: float
    daily: float
    delta: float
    days: int

    def __str__(self) -> str:
        return (
            f"lawful is a mean score of at most {self.hourly:.3f} in any six hours and of {self.daily:.3f} over days "
            f"(from {self.days} days; δ {self.delta:.3f})"
        )


@dataclass(frozen=True, slots=True)
class Calibration:
    standing: Standing
    reason: str = ""
    noise: Noise | None = None
    levels: Levels | None = None
