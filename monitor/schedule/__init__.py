"""When checks are due. Pure: times in, slots out; no clock, no database."""

from __future__ import annotations

from monitor.schedule.slots import CatchUp, CronLine, Interval, Schedule, deadline, due, jittered, phase_of

__all__ = ["CatchUp", "CronLine", "Interval", "Schedule", "deadline", "due", "jittered", "phase_of"]
