"""The one clock of the service: every time that is stored, shown or waited for is read here."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The wall-clock time, aware and in UTC."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Seconds on a clock that never goes back; only differences mean anything."""
    return time.monotonic()
