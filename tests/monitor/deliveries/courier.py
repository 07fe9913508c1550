"""A service in small: alerts that fire and resolve in a real database, and the loop that tells channels, on a clock of
its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import func, select, update

from monitor.alerts.events import EventKind
from monitor.alerts.states import AlertState, Severity
from monitor.config.schema import ConfigFile
from monitor.config.service import Channel
from monitor.deliveries.dispatch import Delivered, Dispatch
from monitor.deliveries.routes import Routes
from monitor.deliveries.sender import send
from monitor.store import Store
from monitor.store.deliveries import Deliveries
from monitor.store.delivery_records import DeliveryEntry
from monitor.store.keyset import Window
from monitor.store.tables import Alert, AlertEvent, ChannelHealth, Delivery, NotifyGroup
from monitor.store.vocabulary import DeliveryStatus
from tests.monitor.deliveries.material import AT, stored_finding

OWNER = "worker-1"
# Long enough for a receiver on this machine, short enough for one that never answers.
IMPATIENT_S = 0.5

QUICK = {"id": "all", "group_by": ("provider",), "group_wait": 1.0, "group_interval": 1.0, "repeat": 86_400.0}


@contextmanager
def courier(
    database: str, *channels: Channel, route: dict[str, Any] | None = None, **send_with: Any
) -> Iterator[Courier]:
    """A courier over a fresh database. By default every alert goes to every channel at once."""
    file = ConfigFile.model_validate(
        {
            "version": 1,
            "channels": channels,
            "routes": ({**QUICK, "to": tuple(channel.id for channel in channels), **(route or {})},),
        }
    )
    with Store.open(database, at=AT) as store:
        deliveries = Deliveries(store.sessions)
        sending = partial(send, **{"timeout_s": IMPATIENT_S, **send_with})
        yield Courier(store, Dispatch(deliveries, Routes.of(file), send=sending))


@dataclass
class Courier:
    store: Store
    dispatch: Dispatch
    now: datetime = AT
    delivered: list[Delivered] = field(default_factory=list)

    @property
    def deliveries(self) -> Deliveries:
        return self.dispatch.deliveries

    def reroute(self, *routes: dict[str, Any]) -> None:
        """Other routes are in force from now on."""
        channels = tuple(self.dispatch.routes.channels.values())
        file = ConfigFile.model_validate(
            {"version": 1, "channels": channels, "routes": tuple({**QUICK, **route} for route in routes)}
        )
        self.dispatch = replace(self.dispatch, routes=Routes.of(file))

    def told(self, channel: str = "ops") -> list[str]:
        """The types of what a channel was told, the oldest first."""
        return [entry.type for entry in self.entries(channel=channel)]

    def fire(self, number: int, *, provider: str = "acme", **changes: Any) -> str:
        """An alert opens and fires now."""
        at = self.now
        name = f"alr_{number:04}"
        row = Alert(
            id=name,
            fingerprint=f"fp{number:04}",
            rule="drift",
            metric="logprobs",
            labels={"provider": provider, "model": "qwen3-32b"},
            severity=Severity.CRITICAL,
            state=AlertState.FIRING,
            flapping=False,
            core={},
            finding=dict(stored_finding()),
            opened_at=at,
            fired_at=at,
            updated_at=at,
            row_version=1,
        )
        for column, value in changes.items():
            setattr(row, column, value)
        with self.store.sessions.write() as session:
            session.add(row)
            session.flush()
            session.add(_event(name, 1, EventKind.FIRED, None, AlertState.FIRING, at))
        return name

    def step(
        self, number: int, kind: EventKind, state: AlertState, *, at: datetime | None = None, **values: Any
    ) -> None:
        """Something happens to an alert."""
        at = at or self.now
        name = f"alr_{number:04}"
        with self.store.sessions.write() as session:
            seq = session.scalars(select(func.max(AlertEvent.seq)).where(AlertEvent.alert_id == name)).one()
            session.execute(update(Alert).where(Alert.id == name).values(state=state, updated_at=at, **values))
            session.add(_event(name, seq + 1, kind, AlertState.FIRING, state, at))

    def resolve(self, number: int) -> None:
        self.step(number, EventKind.RESOLVED, AlertState.RESOLVED, resolved_at=self.now)

    def work(self) -> None:
        """All that is due now."""
        self.dispatch.fan_out(self.now)
        self.dispatch.flush_due(self.now)
        while due := self.dispatch.due(self.now):
            for delivery_id in due:
                found = self.dispatch.deliver(delivery_id, OWNER, self.now)
                if found is not None:
                    self.delivered.append(found)

    def work_until(self, end: datetime) -> None:
        """Live through all that becomes due until `end`."""
        while True:
            self.work()
            upcoming = self._next_moment()
            if upcoming is None or upcoming > end:
                self.now = end
                self.work()
                return
            self.now = upcoming

    def work_for(self, duration: timedelta) -> None:
        self.work_until(self.now + duration)

    def entries(self, **which: Any) -> list[DeliveryEntry]:
        """Every delivery, the oldest first."""
        return list(self.deliveries.page(Window(10_000, ascending=True), **which).items)

    def open(self) -> list[DeliveryEntry]:
        return [entry for entry in self.entries() if not entry.status.finished]

    def statuses(self) -> set[DeliveryStatus]:
        return {entry.status for entry in self.entries()}

    def _next_moment(self) -> datetime | None:
        """The next time at which something becomes due that is not due now."""
        waiting = Delivery.status == DeliveryStatus.PENDING
        queries = (
            select(func.min(NotifyGroup.due_at)).where(NotifyGroup.due_at > self.now),
            select(func.min(Delivery.next_attempt_at)).where(waiting, Delivery.next_attempt_at > self.now),
            select(func.min(ChannelHealth.throttled_until)).where(ChannelHealth.throttled_until > self.now),
        )
        with self.store.sessions.read() as session:
            times = [session.scalars(query).one() for query in queries]
        return min((time for time in times if time is not None), default=None)


def _event(
    alert: str, seq: int, kind: EventKind, before: AlertState | None, after: AlertState, at: datetime
) -> AlertEvent:
    return AlertEvent(
        alert_id=alert,
        seq=seq,
        kind=kind.value,
        from_state=before,
        to_state=after,
        reason="",
        actor="monitor",
        at=at,
        snapshot={},
    )
