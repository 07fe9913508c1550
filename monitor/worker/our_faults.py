"""What is wrong on our side now and holds notices back: for the worker that sends them, and for whoever shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from monitor.alerts.inhibit import Conditions
from monitor.check.identity import key_of, key_of_entry
from monitor.config import EndpointConfig
from monitor.store import Store
from monitor.store.beats import Beats
from monitor.store.conditions import conditions
from monitor.worker.canary import CONNECTIVITY, Connectivity


def our_faults(store: Store, endpoints: Mapping[str, EndpointConfig], at: datetime) -> Conditions:
    """`endpoints` are those of the configuration by their ids."""
    seen = Connectivity.from_json(Beats(store.sessions).setting(CONNECTIVITY))
    with store.sessions.read() as session:
        return conditions(session, endpoints, at, offline=seen is not None and seen.offline_at(at))


def entries_by_id(store: Store, entries: Iterable[EndpointConfig]) -> dict[str, EndpointConfig]:
    """Those that have a row, by their ids."""
    known = {key_of_entry(entry): entry for entry in entries}
    return {record.id: known[key] for record in store.endpoints() if (key := key_of(record)) in known}
