"""When a child that ended is started again, and when that is hopeless: pure values over a monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass

MOST_FAILURES = 5
WINDOW_S = 60.0
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 10.0


@dataclass(frozen=True, slots=True)
class Restarts:
    """The times at which one child ended unasked or could not be started, as far as they still count."""

    ended_at: tuple[float, ...] = ()

    def ended(self, now: float) -> Restarts:
        """One more failure; those older than the window are forgotten."""
        return Restarts((*(at for at in self.ended_at if now - at < WINDOW_S), now))

    @property
    def hopeless(self) -> bool:
        """Whether it failed so often within the window that starting it again helps nobody."""
        return len(self.ended_at) >= MOST_FAILURES

    @property
    def start_at(self) -> float:
        """When to start it again: later after every failure in a row."""
        delay = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** (len(self.ended_at) - 1))
        return self.ended_at[-1] + delay if self.ended_at else 0.0
