"""Durations, schedules and calendars as the configuration file writes them.

The checks raise ValueError, as Pydantic asks of validators; its text completes the sentence "KEY: …".
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from dateutil.rrule import rrule, rrulestr
from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema

DAY = 86_400.0
LONGEST = 3_660 * DAY

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": DAY, "w": 7 * DAY}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)")
_PER_CENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_LOCAL_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?")
_RULE = re.compile(r"[A-Z]+=[A-Z0-9,+-]+(;[A-Z]+=[A-Z0-9,+-]+)*")
_RULE_PARTS = re.compile(r"FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;|$)")

# Where a rule without `starts` counts from: a Monday, and the first of a month and a year.
FIRST_DAY = datetime(2024, 1, 1)  # noqa: DTZ001 - local time, in the zone of its window
# The 29th of February, the rarest day there is, comes within these years.
_LAST_LOOK = datetime(2033, 1, 1)  # noqa: DTZ001


def parse_duration(value: object) -> float:
    """Seconds, up to a day: a number, or text such as "500ms", "60s", "2m", "1h"."""
    seconds = _seconds(value)
    if not 0 < seconds <= DAY:
        raise ValueError("must be more than 0 and at most a day")
    return seconds


def parse_long_duration(value: object) -> float:
    """Seconds, up to ten years: a number, or text such as "60s", "2h", "14d", "8w"."""
    seconds = _seconds(value)
    if not 0 < seconds <= LONGEST:
        raise ValueError("must be more than 0 and at most ten years")
    return seconds


def _seconds(value: object) -> float:
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        return float(match[1]) * _UNITS[match[2]]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError('must be a number of seconds or a duration such as "60s" or "2m"')


def _parse_part(value: object) -> object:
    if isinstance(value, str) and (match := _PER_CENT.fullmatch(value.strip())):
        return float(match[1]) / 100.0
    return value


def _check_cron(text: str) -> str:
    if len(text.split()) != 5:
        raise ValueError('must have five fields: minute, hour, day, month, weekday, such as "0 3 * * *"')
    try:
        next(CronSim(text, datetime(2024, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        raise ValueError(f"is not a cron expression: {error}") from None
    except StopIteration:
        raise ValueError("never comes due") from None
    return text


def _check_time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        nearest = get_close_matches(name, available_timezones(), n=1)
        raise ValueError(
            f"is not a time zone; {f'did you mean {nearest[0]!r}?' if nearest else 'write one such as Europe/Berlin'}"
        ) from None
    return name


def _parse_local_time(value: object) -> datetime:
    if isinstance(value, str) and _LOCAL_TIME.fullmatch(value):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass
    raise ValueError("must be a time such as 2026-12-01T02:00, in tz and so without an offset")


def recurrence(text: str, starts: datetime | None) -> rrule:
    """The times of a rule in local time. Raises ValueError for what is no such rule."""
    found = rrulestr(text, dtstart=starts or FIRST_DAY, cache=True)
    if not isinstance(found, rrule):
        raise ValueError("is a set of rules")
    return found


def _check_recurrence_rule(text: str) -> str:
    if _RULE.fullmatch(text) is None or len(text) > 200:
        raise ValueError('is not a recurrence rule (RFC 5545); write one such as "FREQ=WEEKLY;BYDAY=SU;BYHOUR=2"')
    if _RULE_PARTS.match(text) is None:
        raise ValueError("must begin with FREQ=DAILY, WEEKLY, MONTHLY or YEARLY")
    try:
        rule = recurrence(text, None).replace(count=None, until=_LAST_LOOK)
        first = next(iter(rule), None)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("is not a recurrence rule (RFC 5545)") from None
    if first is None:
        raise ValueError("never comes due")
    return text


_DURATION_SCHEMA = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]}

Duration = Annotated[float, BeforeValidator(parse_duration), WithJsonSchema(_DURATION_SCHEMA)]
LongDuration = Annotated[float, BeforeValidator(parse_long_duration), WithJsonSchema(_DURATION_SCHEMA)]
Part = Annotated[
    float,
    Field(ge=0.0, le=0.5),
    BeforeValidator(_parse_part),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 0.5}, {"type": "string", "pattern": "%$"}]}),
]
Cron = Annotated[str, AfterValidator(_check_cron)]
TimeZone = Annotated[str, AfterValidator(_check_time_zone)]
LocalTime = Annotated[
    datetime, PlainValidator(_parse_local_time), WithJsonSchema({"type": "string", "pattern": _LOCAL_TIME.pattern})
]
RecurrenceRule = Annotated[str, AfterValidator(_check_recurrence_rule)]
