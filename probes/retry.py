"""Decides whether a failed attempt is tried again and after how long: pure, from the failure and what was asked for."""

from __future__ import annotations

from datetime import datetime

from probes.completion import RetryAfter
from probes.failure import FailureKind
from probes.wire.retry_after import http_date

MAX_RETRIES = 2
BACKOFF_S = 1.0
RETRY_AFTER_CAP_S = 60.0

RETRIABLE = frozenset(
    {
        FailureKind.DNS,
        FailureKind.REFUSED,
        FailureKind.UNREACHABLE,
        FailureKind.TIMEOUT,
        FailureKind.RESET,
        FailureKind.SERVER,
        FailureKind.RATE_LIMITED,
    }
)


def wait_before_retry(kind: FailureKind, *, retries: int, retry_after_s: float | None, jitter: float) -> float | None:
    """Seconds to wait before the next try, None to give up. `retries` were made already; `jitter` is in [0, 1).

    A wait the provider asks for is kept to. One beyond RETRY_AFTER_CAP_S ends the tries: asking sooner would be
    rude, waiting longer would stall the run.
    """
    if kind not in RETRIABLE or retries >= MAX_RETRIES:
        return None
    if retry_after_s is not None:
        return retry_after_s if retry_after_s <= RETRY_AFTER_CAP_S else None
    return float(BACKOFF_S * 2**retries * (0.5 + jitter))


def retry_after_seconds(asked: RetryAfter | None, *, date: str | None, now: datetime) -> float | None:
    """What a Retry-After asks for, in seconds from now; a date is compared with the server's own `Date`, if given."""
    if asked is None:
        return None
    if asked.seconds is not None:
        return max(0.0, asked.seconds)
    until = http_date(asked.header)
    if until is None:
        return None
    return max(0.0, (until - (http_date(date or "") or now)).total_seconds())
