"""What the store says of deliveries, groups and channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from monitor.alerts.states import AlertState
from monitor.deliveries.facts import AlertFacts
from monitor.store.vocabulary import DeliveryStatus


@dataclass(frozen=True, slots=True)
class AlertStep:
    """A step of an alert that no channel's group knows of yet; `alert` is the alert as it is now."""

    event_id: int
    kind: str
    to_state: AlertState
    at: datetime
    alert: AlertFacts


@dataclass(frozen=True, slots=True)
class EventStep:
    """An event of the service that no channel was told of yet."""

    event_id: int
    type: str
    labels: Mapping[str, str]
    data: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class GroupId:
    channel: str
    route: str
    group_key: str


@dataclass(frozen=True, slots=True)
class DeliveryEntry:
    """A delivery, without its body. `attempts` counts the tries that were begun."""

    id: str
    channel: str
    type: str
    group_key: str
    seq: int
    alert_ids: tuple[str, ...]
    status: DeliveryStatus
    attempts: int
    next_attempt_at: datetime
    error: str | None
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that its owner may try now: this one try, number `attempt`."""

    entry: DeliveryEntry
    owner: str
    attempt: int
    body: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Told:
    """What became of the latest message about an alert to one channel; `at` is when it was taken or given up, or made
    where it still waits."""

    channel: str
    type: str
    status: DeliveryStatus
    at: datetime


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    at: datetime
    http_status: int | None
    error: str | None
    milliseconds: float
    response: str | None


@dataclass(frozen=True, slots=True)
class ChannelState:
    """How a channel fares; `failures` are failed tries in a row."""

    channel: str
    failures: int = 0
    throttled_until: datetime | None = None
    disabled_at: datetime | None = None
    reason: str | None = None
    ok_at: datetime | None = None
