"""When a provider asks to be tried again: milliseconds, seconds or a date, by the headers it sends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from probes.completion import RetryAfter

_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,12})?")


def retry_after(headers: Mapping[str, str]) -> RetryAfter | None:
    """From `retry-after-ms` where that is a number, else from `retry-after`; header names are in lower case."""
    milliseconds, seconds = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    if _NUMBER.fullmatch(milliseconds.strip()):
        return RetryAfter(milliseconds, "ms", float(milliseconds) / 1000)
    if _NUMBER.fullmatch(seconds.strip()):
        return RetryAfter(seconds, "seconds", float(seconds))
    return None if http_date(seconds) is None else RetryAfter(seconds, "http-date")


def http_date(text: str) -> datetime | None:
    """The time an HTTP date names, None where it is none."""
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
