"""What the stored configuration says of endpoints, for pages that only look."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from monitor.alerts.holds import maintenance_of
from monitor.api.state import ApiState
from monitor.check.ledger import identity_of
from monitor.config import Config, EndpointConfig
from monitor.config.service import Maintenance
from monitor.errors import ConfigError
from monitor.schedule import Schedule
from monitor.store.records import EndpointRecord
from monitor.worker.configured import slots_of

Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Configured:
    """`endpoints` are the entries by what makes them the same endpoint as a row; `problem` is why there is no `config`,
    where what is stored makes none."""

    config: Config | None
    endpoints: Mapping[Key, EndpointConfig] = field(default_factory=dict)
    problem: str = ""

    @classmethod
    def stored(cls, state: ApiState) -> Configured:
        try:
            config = state.config.config()
        except ConfigError as error:
            return cls(None, problem=error.message.splitlines()[0])
        return cls(config, {_key_of_entry(entry): entry for entry in config.all_endpoints()})

    def slots(self, record: EndpointRecord) -> Schedule | None:
        """When an endpoint is checked; None where nothing checks it."""
        entry = self.endpoints.get(key(record))
        if entry is None or self.config is None:
            return None
        return slots_of(self.config.schedule_of(entry), record.id)

    @property
    def maintenance(self) -> Sequence[Maintenance]:
        return () if self.config is None else self.config.file.maintenance

    def in_maintenance(self, labels: Mapping[str, str], at: datetime) -> bool:
        return maintenance_of(self.maintenance, labels, at) is not None


def key(record: EndpointRecord) -> Key:
    return record.provider, record.model, record.served_name, json.dumps(record.routing, sort_keys=True)


def _key_of_entry(entry: EndpointConfig) -> Key:
    identity = identity_of(entry)
    routing = json.dumps(identity.routing, sort_keys=True)
    return identity.provider_slug, identity.model_slug, identity.served_name, routing


def every(slots: Schedule, at: datetime) -> timedelta:
    """How far apart the slots are around `at`."""
    slot = slots.slot_of(at)
    return slots.next_slot(slot) - slot


def labels_of(record: EndpointRecord) -> dict[str, str]:
    """What a `match` sees of an endpoint."""
    own = {name: str(value) for name, value in record.labels.items()}
    return {**own, "provider": record.provider, "model": record.model}
