"""Slots: the moments at which a schedule wants a check, the same for everyone who asks, in whatever order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
# A tick comes every ten seconds: a slot that began longer ago was missed.
PATIENCE = timedelta(minutes=5)
# No clock is put forward or back by more than this at once.
_AROUND_A_CHANGE = timedelta(hours=3)


class CatchUp(StrEnum):
    """What becomes of slots that were missed: nothing, or one check for all of them."""

    SKIP = "skip"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Interval:
    """Every so often, `phase` after the full multiples since 1970."""

    every: timedelta
    phase: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        if self.every < _SECOND:
            raise ValueError(f"an interval of {self.every}, not at least a second")

    def slot_of(self, now: datetime) -> datetime:
        """The latest slot that is not after `now`."""
        start = _EPOCH + self.phase
        return start + (now - start) // self.every * self.every

    def next_slot(self, now: datetime) -> datetime:
        """The earliest slot after `now`."""
        return self.slot_of(now) + self.every


@dataclass(frozen=True, slots=True)
class CronLine:
    """At the times of a cron expression of five fields in a time zone, as Debian's cron reads it: where the clock is
    put forward, a set time that does not exist comes right after; where it is put back, a set time comes once.

    Raises ValueError for an expression or a zone that is none, and for times that never come.
    """

    expression: str
    tz: str = "UTC"

    def __post_init__(self) -> None:
        if len(self.expression.split()) != 5:
            raise ValueError(f"{self.expression!r} has not five fields")
        try:
            self.next_slot(_EPOCH)
        except (CronSimError, StopIteration) as error:
            raise ValueError(f"{self.expression!r} names no times: {error}") from error
        except (OSError, LookupError) as error:
            raise ValueError(f"{self.tz!r} is no time zone") from error

    def slot_of(self, now: datetime) -> datetime:
        """The latest slot that is not after `now`."""
        start = now.astimezone(UTC).replace(microsecond=0) + _SECOND
        return next(slot for slot in self._times(start, 1) if slot <= now)

    def next_slot(self, now: datetime) -> datetime:
        """The earliest slot after `now`."""
        return next(slot for slot in self._times(now, -1) if slot > now)

    def _times(self, start: datetime, back: int) -> Iterator[datetime]:
        """Slots in UTC, from a little beyond `start` where the clock is changed near it: in the hour that comes twice
        an iteration cannot begin, for it takes the second for the first."""
        zone = ZoneInfo(self.tz)
        before, after = start - _AROUND_A_CHANGE, start + _AROUND_A_CHANGE
        if before.astimezone(zone).utcoffset() != after.astimezone(zone).utcoffset():
            start += back * _AROUND_A_CHANGE
        for time in CronSim(self.expression, start.astimezone(zone), reverse=back > 0):
            yield time.astimezone(UTC)


Schedule = Interval | CronLine


def due(
    schedule: Schedule,
    last_slot: datetime | None,
    now: datetime,
    catch_up: CatchUp,
    *,
    key: str = "",
    jitter: float = 0.0,
) -> datetime | None:
    """The slot to enter now, None where there is none.

    `last_slot` is the latest that was entered, None for a schedule that is new: an interval begins at once then, a
    cron line at its next time. A slot is never entered twice, nor one before the last, however the clock is set.
    """
    slot, began = _begun(schedule, now, key, jitter)
    if last_slot is not None and slot <= last_slot:
        return None
    missed = now - began > PATIENCE
    if last_slot is None:
        return None if missed and isinstance(schedule, CronLine) else slot
    return None if missed and catch_up is CatchUp.SKIP else slot


def _begun(schedule: Schedule, now: datetime, key: str, jitter: float) -> tuple[datetime, datetime]:
    """The latest slot whose time has come, jitter included, and that time."""
    slot = schedule.slot_of(now)
    begins = _begin(schedule, slot, key, jitter)
    if begins > now:
        slot = schedule.slot_of(slot - _SECOND)
        begins = _begin(schedule, slot, key, jitter)
    return slot, begins


def _begin(schedule: Schedule, slot: datetime, key: str, jitter: float) -> datetime:
    return jittered(slot, key, jitter, _length(schedule, slot)) if jitter else slot


def jittered(slot: datetime, key: str, jitter: float, every: timedelta) -> datetime:
    """A moment in the first `jitter` (0 up to, but not including, 1) of a slot, always the same for its key."""
    if not 0.0 <= jitter < 1.0:
        raise ValueError(f"a jitter of {jitter}")
    share = _hash(f"{key} {slot.astimezone(UTC).isoformat()}") / 2**64
    return slot + every * (jitter * share)


def deadline(schedule: Schedule, slot: datetime, entered_at: datetime) -> datetime:
    """When a check that was entered for a slot need not begin any more: as long after as the slot is."""
    return entered_at + _length(schedule, slot)


def _length(schedule: Schedule, slot: datetime) -> timedelta:
    return schedule.next_slot(slot) - slot


def phase_of(key: str, every: timedelta) -> timedelta:
    """Where in an interval a key has its slots: in whole seconds, always the same, spread evenly over all keys."""
    return timedelta(seconds=_hash(key) % int(every.total_seconds()))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
