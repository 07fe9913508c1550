"""What `defaults` mean for schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.config.service import DEFAULT_SCHEDULE, Schedule

if TYPE_CHECKING:
    from monitor.config.schema import Defaults


def default_schedule(defaults: Defaults) -> Schedule:
    """The schedule of whatever no schedule matches."""
    return with_defaults(Schedule.model_construct(id=DEFAULT_SCHEDULE, every=defaults.every), defaults)


def with_defaults(schedule: Schedule, defaults: Defaults) -> Schedule:
    """The nearest setting wins: the schedule's own, then the defaults'."""
    unset = {"jitter", "catch_up"} - schedule.model_fields_set
    return schedule.model_copy(update={key: getattr(defaults, key) for key in unset})
