"""What the stored configuration says of endpoints, for pages that only look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from monitor.api.state import ApiState
from monitor.check.identity import Key, key_of, key_of_entry
from monitor.config import EndpointConfig
from monitor.config.matching import matches
from monitor.config.objects import StoredObject, config_from_objects
from monitor.config.service import Maintenance
from monitor.config.service import Schedule as ScheduleConfig
from monitor.config.windows import open_until
from monitor.errors import ConfigError
from monitor.schedule import Schedule
from monitor.standing import NOTHING_EXPECTED, Expected
from monitor.store.records import EndpointRecord
from monitor.worker.configured import expected_of, slots_of


@dataclass(frozen=True, slots=True)
class Scheduled:
    """An endpoint of the configuration, and when it is checked."""

    entry: EndpointConfig
    schedule: ScheduleConfig


@dataclass(frozen=True, slots=True)
class Configured:
    """`endpoints` are the entries by what makes them the same endpoint as a row; `problem` is why there are none, where
    what is stored makes no configuration."""

    endpoints: Mapping[Key, Scheduled] = field(default_factory=dict)
    maintenance: Sequence[Maintenance] = ()
    problem: str = ""

    @classmethod
    def stored(cls, state: ApiState) -> Configured:
        return _last.of(state.config.all())

    @classmethod
    def of(cls, objects: Sequence[StoredObject]) -> Configured:
        try:
            config = config_from_objects(objects)
        except ConfigError as error:
            return cls(problem=error.message.splitlines()[0])
        entries = config.all_endpoints()
        found = {key_of_entry(entry): Scheduled(entry, config.schedule_of(entry)) for entry in entries}
        return cls(found, config.file.maintenance)

    def slots(self, record: EndpointRecord) -> Schedule | None:
        """When an endpoint is checked; None where nothing checks it."""
        found = self.endpoints.get(key_of(record))
        return None if found is None else slots_of(found.schedule, record.id)

    def expected(self, record: EndpointRecord, at: datetime) -> Expected:
        """What is asked of an endpoint on schedule."""
        found = self.endpoints.get(key_of(record))
        return NOTHING_EXPECTED if found is None else expected_of(found.schedule, record.id, at)

    def open_windows(self, at: datetime) -> list[Maintenance]:
        return [window for window in self.maintenance if open_until(window, at) is not None]


class _Last:
    """The configuration that was read last: reading takes ten times as long as seeing that nothing has changed."""

    def __init__(self) -> None:
        self._read: tuple[Sequence[StoredObject], Configured] | None = None

    def of(self, objects: Sequence[StoredObject]) -> Configured:
        read = self._read
        if read is None or read[0] != objects:
            self._read = read = objects, Configured.of(objects)
        return read[1]


_last = _Last()


def covered(labels: Mapping[str, str], windows: Iterable[Maintenance]) -> bool:
    """Whether one of these maintenance windows is about an endpoint with these labels."""
    return any(matches(window.match, labels) for window in windows)


def labels_of(record: EndpointRecord) -> dict[str, str]:
    """What a `match` sees of an endpoint."""
    own = {name: str(value) for name, value in record.labels.items()}
    return {**own, "provider": record.provider, "model": record.model}
