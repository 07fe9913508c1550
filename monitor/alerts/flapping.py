"""When an alert changes so often that its changes are no news (SERVICE.md 3.7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

DAY = timedelta(hours=24)
# Fires and resolves within a day; changes of the verdict among the last 21, of whose twenty gaps half is ten.
MOST_TURNS = 3
MOST_FLIPS = 10
FLIPS_WITHIN = 20
QUIET_FOR = 6


@dataclass(frozen=True, slots=True)
class Swings:
    """How an alert moved of late, over episodes: the times of its fires and resolves (`turns`), and of changes between
    good and bad (`flips`; `bad` is the side it was on last); when it began to flap last, and when it stopped."""

    turns: tuple[datetime, ...] = ()
    flips: tuple[datetime, ...] = ()
    bad: bool = False
    began_at: datetime | None = None
    calmed_at: datetime | None = None

    def seen(self, *, bad: bool, at: datetime, every: timedelta) -> Swings:
        """A measurement came out good or bad."""
        if bad == self.bad:
            return self
        return replace(self, flips=(*_within(self.flips, FLIPS_WITHIN * every, at), at), bad=bad)

    def turned(self, at: datetime) -> Swings:
        """The alert fired or resolved."""
        return replace(self, turns=(*_within(self.turns, DAY, at), at))

    def up_to(self, at: datetime) -> Swings:
        """What moved by then; flapping began and stopped by then."""
        return replace(
            self,
            turns=tuple(time for time in self.turns if time <= at),
            flips=tuple(time for time in self.flips if time <= at),
            began_at=None if self.began_at is None else min(self.began_at, at),
            calmed_at=None if self.calmed_at is None else min(self.calmed_at, at),
        )

    def too_many(self, at: datetime, every: timedelta) -> bool:
        turns, flips = _within(self.turns, DAY, at), _within(self.flips, FLIPS_WITHIN * every, at)
        return len(turns) > MOST_TURNS or len(flips) > MOST_FLIPS

    def relapses(self, at: datetime) -> bool:
        """Whether a turn now is of the flapping that stopped within the last day."""
        return self.calmed_at is not None and at - self.calmed_at < DAY

    def calm(self, at: datetime, every: timedelta) -> bool:
        """Quiet, and no sooner than a day after it began: so the beginning and the end of flapping, which are told, are
        two notices a day at most."""
        quiet = not self.flips or at - self.flips[-1] >= QUIET_FOR * every
        return quiet and (self.began_at is None or at - self.began_at >= DAY)


STILL = Swings()


def _within(times: tuple[datetime, ...], span: timedelta, at: datetime) -> tuple[datetime, ...]:
    return tuple(time for time in times if at - time < span)
