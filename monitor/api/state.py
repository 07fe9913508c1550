"""What the routes work with: one database, its facades, and the bell that wakes the workers."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from monitor.access.actor import STRANGER, Actor
from monitor.access.guard import Guard
from monitor.access.keys import SigningKey
from monitor.store import Store
from monitor.store.access import Access
from monitor.store.alerts import Alerts
from monitor.store.anchors import Anchors
from monitor.store.browse import Browse
from monitor.store.config import ConfigObjects
from monitor.store.deliveries import Deliveries
from monitor.store.idempotency import Idempotency
from monitor.store.limits import Limits
from monitor.store.queue import Queue
from monitor.store.series import Series
from monitor.store.stream_views import StreamViews
from monitor.worker.bell import Bell


@dataclass(frozen=True, slots=True)
class ApiState:
    """Opened once per process; `store` stays its owner's to close. `external_url` is where people find the service."""

    store: Store
    key: SigningKey
    bell: Bell
    external_url: str = ""

    @property
    def access(self) -> Access:
        return Access(self.store.sessions)

    @property
    def guard(self) -> Guard:
        return Guard(self.access, Limits(self.store.sessions), self.key)

    @property
    def anchors(self) -> Anchors:
        return Anchors(self.store.sessions)

    @property
    def browse(self) -> Browse:
        return Browse(self.store.sessions)

    @property
    def queue(self) -> Queue:
        return Queue(self.store.sessions)

    @property
    def series(self) -> Series:
        return Series(self.store.sessions)

    @property
    def streams(self) -> StreamViews:
        return StreamViews(self.store.sessions)

    @property
    def alerts(self) -> Alerts:
        return Alerts(self.store.sessions)

    @property
    def deliveries(self) -> Deliveries:
        return Deliveries(self.store.sessions)

    @property
    def config(self) -> ConfigObjects:
        return ConfigObjects(self.store.sessions)

    @property
    def idempotency(self) -> Idempotency:
        return Idempotency(self.store.sessions)


def state_of(request: Request) -> ApiState:
    state: ApiState = request.app.state.api
    return state


def actor_of(request: Request) -> Actor:
    """Who sends the request, as the gate recognised him."""
    actor: Actor = request.scope.get("monitor.actor", STRANGER)
    return actor
