"""What follows a try of a delivery: done, again at a later time, given up, or the channel switched off."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Standard Webhooks' schedule, stretched to 32 hours: seconds before each try.
DELAYS_S = (0, 5, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 57_600)
MAX_ATTEMPTS = len(DELAYS_S)
# Little enough that a receiver that was away for an hour has everything 70 minutes after its return.
JITTER = 0.15
LONGEST_RETRY_AFTER = timedelta(hours=1)

# Where a busy receiver names no time, the channel's other notices wait no longer than this.
SHORT_PAUSE = timedelta(minutes=1)

GONE = 410
BUSY = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Done:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class Again:
    """Try again at `at`; until `pause_until`, if given, nothing else is sent to the channel either."""

    at: datetime
    pause_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class SwitchOff:
    """The receiver wants nothing more, ever: the delivery waits, untried, for someone to switch the channel on."""

    at: datetime


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Every try is used up."""


Step = Done | Again | SwitchOff | GiveUp


def next_step(delivery_id: str, attempt: int, http_status: int | None, retry_after: str | None, now: datetime) -> Step:
    """What follows try number `attempt` (from 1), which ended at `now` with `http_status`, None without an answer."""
    if http_status is not None and 200 <= http_status < 300:
        return Done()
    if http_status == GONE:
        return SwitchOff(now)
    if attempt >= MAX_ATTEMPTS:
        return GiveUp()
    again = now + delay_after(delivery_id, attempt)
    if http_status not in BUSY:
        return Again(again)
    asked = parse_retry_after(retry_after, now)
    # Never sooner than planned: a receiver that asks for seconds all day long must not use up the tries.
    return Again(max(again, now + (asked or timedelta())), now + (asked or min(again - now, SHORT_PAUSE)))


def delay_after(delivery_id: str, attempt: int) -> timedelta:
    """The planned wait after try number `attempt`, ±15 %, the same whenever it is asked for."""
    digest = hashlib.sha256(f"{delivery_id}:{attempt}".encode()).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    return timedelta(seconds=DELAYS_S[attempt] * (1 + JITTER * (2 * share - 1)))


def parse_retry_after(text: str | None, now: datetime) -> timedelta | None:
    """A Retry-After header (RFC 9110 10.2.3), seconds or a date, at most an hour; None where it says nothing."""
    if text is None:
        return None
    wait = _seconds(text.strip()) if text.strip().isdecimal() else _until(text, now)
    return None if wait is None or wait <= timedelta() else min(wait, LONGEST_RETRY_AFTER)


def _seconds(digits: str) -> timedelta:
    # Ten digits are three centuries: enough, and no overflow.
    return timedelta(seconds=int(digits[:10]))


def _until(text: str, now: datetime) -> timedelta | None:
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)) - now
