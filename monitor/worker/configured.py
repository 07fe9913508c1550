"""What the configuration's objects say at this moment, with the endpoints as the database knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.alerts.holds import maintenance_of
from monitor.alerts.rule import AlertRule, rules_for
from monitor.check.identity import identity_of
from monitor.config import Config, EndpointConfig
from monitor.config.service import Schedule as ScheduleConfig
from monitor.schedule import CronLine, Interval, Schedule, phase_of
from monitor.standing import Expected
from monitor.store import EndpointRecord, Store

_SHORTEST = timedelta(seconds=1)
# Of what a schedule asks, so many slots may pass without a new verdict before the last one is old.
_MISSED_SLOTS = 3


@dataclass(frozen=True, slots=True)
class KnownEndpoint:
    """An endpoint of the configuration, and its row. `schedule` is when it is checked."""

    record: EndpointRecord
    config: EndpointConfig
    schedule: ScheduleConfig

    @property
    def labels(self) -> Mapping[str, str]:
        return self.config.matching_labels

    @property
    def slots(self) -> Schedule:
        return slots_of(self.schedule, self.record.id)

    def every(self, at: datetime) -> timedelta:
        """How far apart its slots are around `at`."""
        return between(self.slots, at)


@dataclass(frozen=True, slots=True)
class Configured:
    """`endpoints` by their ids."""

    config: Config
    endpoints: Mapping[str, KnownEndpoint]

    @classmethod
    def of(cls, config: Config, store: Store, at: datetime) -> Configured:
        """Enters the endpoints that are new."""
        known = {}
        for endpoint in config.all_endpoints():
            record = store.ensure_endpoint(identity_of(endpoint), at=at)
            known[record.id] = KnownEndpoint(record, endpoint, config.schedule_of(endpoint))
        return cls(config, known)

    def rules(self, endpoint: KnownEndpoint, at: datetime) -> Sequence[AlertRule]:
        return rules_for(self.config.file.rules, endpoint.labels, endpoint.every(at))

    def in_maintenance(self, endpoint: KnownEndpoint, at: datetime) -> bool:
        return maintenance_of(self.config.file.maintenance, endpoint.labels, at) is not None


def slots_of(schedule: ScheduleConfig, key: str) -> Schedule:
    """An interval has its slots where the key's hash puts them, so that not all endpoints are checked at once."""
    if schedule.cron is not None:
        return CronLine(schedule.cron, schedule.tz)
    every = max(_SHORTEST, timedelta(seconds=schedule.every or 0.0))
    return Interval(every, phase_of(key, every))


def between(slots: Schedule, at: datetime) -> timedelta:
    """How far apart the slots are around `at`."""
    slot = slots.slot_of(at)
    return slots.next_slot(slot) - slot


def expected_of(schedule: ScheduleConfig, key: str, at: datetime) -> Expected:
    """What a schedule has the endpoint with this id asked, and how soon."""
    return Expected(schedule.probes, _MISSED_SLOTS * between(slots_of(schedule, key), at))
