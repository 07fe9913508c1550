"""The way of a notice: from the outbox into groups, from groups into deliveries, from deliveries to receivers.

Each method does what is due at `now` and returns; the worker calls them again and again. Doing one twice, or in two
processes at once, changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from monitor.alerts.events import EventKind
from monitor.deliveries.attempt import Tried
from monitor.deliveries.destination import format_of, resolve_destination
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.formats import Body, render
from monitor.deliveries.group import PASSING, Decision, Group, Hold, Member, decide
from monitor.deliveries.notice import Notice, NoticeType, Reason
from monitor.deliveries.retry import next_step
from monitor.deliveries.routes import Routes, Target
from monitor.deliveries.sender import send
from monitor.errors import MonitorError, StorageError
from monitor.store.deliveries import Deliveries
from monitor.store.delivery_records import AlertStep, ClaimedDelivery, DeliveryEntry, EventStep, GroupId

AT_ONCE = 500

Holds = Callable[[AlertFacts, datetime], frozenset[Hold]]
Send = Callable[..., Tried]

_TYPES = frozenset(kind.value for kind in NoticeType)
# Of what a group has to say; all else is firing.
_TYPE_OF = {
    Reason.ALL_RESOLVED: NoticeType.RESOLVED,
    Reason.NEW_RESOLVED: NoticeType.RESOLVED,
    Reason.FLAPPING: NoticeType.FLAPPING,
}

_log = logging.getLogger(__name__)


def own_holds(alert: AlertFacts, at: datetime) -> frozenset[Hold]:  # noqa: ARG001 - the signature of all holds
    """What the alert itself says holds its notices back."""
    held = {Hold.ACKED: alert.acked, Hold.FLAPPING: alert.flapping}
    return frozenset(hold for hold, holds in held.items() if holds)


@contextmanager
def _alone(what: str) -> Iterator[None]:
    """What cannot be told for a fault of ours keeps nothing else from being told, and is tried again the next time."""
    try:
        yield
    except StorageError:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, all that comes after it would wait for ever
        _log.exception("%s cannot be told.", what)


@dataclass(frozen=True, slots=True)
class Delivered:
    """What a try came to; `next_id` is the delivery that waited behind this one and may go now."""

    tried: Tried
    entry: DeliveryEntry
    next_id: str | None = None


@dataclass(frozen=True, slots=True)
class Dispatch:
    """`holds` says what keeps an alert from being told; `external_url` is where people find the service."""

    deliveries: Deliveries
    routes: Routes
    holds: Holds = own_holds
    external_url: str = ""
    send: Send = send

    def fan_out(self, now: datetime) -> list[str]:
        """Put what happened into the groups of the channels it concerns; deliveries that were made at once."""
        made: list[str] = []
        for step in self.deliveries.alert_steps(AT_ONCE):
            with _alone(f"A step of alert {step.alert.id}"):
                targets = self.routes.targets(step.alert.labels, step.alert.severity)
                at_once = self._at_once(step, targets, now)
                made += self.deliveries.fan_out_alert(step, targets, at_once, self._write, now)
        for event in self.deliveries.event_steps(AT_ONCE):
            with _alone(f"Event {event.event_id}"):
                made += self.deliveries.fan_out_event(event, self._of_event(event), self._write, now)
        return made

    def flush_due(self, now: datetime) -> list[str]:
        """Decide the groups that are due, and sum up what is old news; the deliveries that were made."""
        made: list[str | None] = []
        for group_id in self.deliveries.due_groups(now, AT_ONCE):
            with _alone(f"A group of channel {group_id.channel}"):
                made.append(self._flush(group_id, now))
        for channel, group_key in self.deliveries.stale_lines(now):
            if channel in self.routes.channels:
                with _alone(f"A line of channel {channel}"):
                    made.append(self.deliveries.fold(channel, group_key, self._write, now))
        return [delivery_id for delivery_id in made if delivery_id is not None]

    def due(self, now: datetime) -> list[str]:
        """The deliveries that may be sent now."""
        return self.deliveries.due(now)

    def deliver(self, delivery_id: str, owner: str, now: datetime) -> Delivered | None:
        """Try once; None where there is nothing to do: sent already, being sent, or not its turn."""
        channel = self.routes.channels.get(self.deliveries.channel_of(delivery_id) or "")
        if channel is None:
            self.deliveries.cancel([delivery_id], "its channel is gone", now)
            return None
        claimed = self.deliveries.claim(delivery_id, owner, now, per_minute=channel.per_minute)
        if claimed is None:
            return None
        tried = self._tried(claimed, now)
        ended = now + timedelta(milliseconds=tried.milliseconds)
        step = next_step(delivery_id, claimed.attempt, tried.http_status, tried.retry_after, ended)
        self.deliveries.finish_try(claimed, tried, step, ended)
        if not tried.ok:
            _log.warning("delivery %s to channel %s, try %d: %s", delivery_id, channel.id, claimed.attempt, tried)
        return Delivered(tried, claimed.entry, self.deliveries.following(claimed.entry) if tried.ok else None)

    def _tried(self, claimed: ClaimedDelivery, now: datetime) -> Tried:
        channel = self.routes.channels[claimed.entry.channel]
        try:
            destination = resolve_destination(channel)
        except MonitorError as error:
            return Tried(error=error.message)
        try:
            return self.send(destination, claimed.entry.id, Body(claimed.body, claimed.content_type), now)
        except Exception:  # noqa: BLE001 - a try that is never finished would be made again for ever
            _log.exception("Delivery %s failed.", claimed.entry.id)
            return Tried(error="an error of the monitor itself; its log has it")

    def _at_once(self, step: AlertStep, targets: Sequence[Target], now: datetime) -> list[Notice]:
        """An acknowledgement, which is not told later where something holds it back: it is old news then."""
        if step.kind != EventKind.ACKED or self.holds(step.alert, now) & PASSING:
            return []
        kind, reason = NoticeType.ACKNOWLEDGED, Reason.ACKNOWLEDGED
        return [
            Notice(kind, reason, step.at, target.channel, target.group_key, (step.alert,), target.labels)
            for target in targets
            if self.routes.hears(target.channel, kind)
        ]

    def _of_event(self, event: EventStep) -> list[Notice]:
        if event.type not in _TYPES:
            return []
        kind = NoticeType(event.type)
        key = f"{event.type}:{event.labels.get('endpoint', '')}"
        return [
            Notice(kind, Reason.EVENT, event.at, channel, key, labels=event.labels, data=event.data)
            for channel in self.routes.listeners(kind, event.labels)
        ]

    def _flush(self, group_id: GroupId, now: datetime) -> str | None:
        if group_id.channel not in self.routes.channels:
            self.deliveries.drop_group(group_id)
            return None

        def home(alert: AlertFacts) -> Target | None:
            return self.routes.target(alert, group_id.channel)

        def choose(group: Group, alerts: Sequence[AlertFacts]) -> Decision:
            members = [Member(alert, self._all_holds(alert, home(alert), now)) for alert in alerts]
            timing = self.routes.timing(group_id.route)
            return decide(group, members, timing, now, self.routes.heard(group_id.channel))

        def notice_of(reason: Reason, alerts: Sequence[AlertFacts], labels: Mapping[str, str]) -> Notice | None:
            return self._notice(group_id, reason, alerts, labels, now)

        return self.deliveries.flush(group_id, home, choose, notice_of, self._write, now)

    def _all_holds(self, alert: AlertFacts, home: Target | None, now: datetime) -> frozenset[Hold]:
        unrouted = frozenset([Hold.UNROUTED]) if home is None else frozenset()
        return own_holds(alert, now) | self.holds(alert, now) | unrouted

    def _notice(
        self,
        group_id: GroupId,
        reason: Reason,
        alerts: Sequence[AlertFacts],
        labels: Mapping[str, str],
        now: datetime,
    ) -> Notice | None:
        """None where the channel does not listen to that; one that listens only to what is over hears that alone."""
        heard = self.routes.heard(group_id.channel)
        kind = _TYPE_OF.get(reason, NoticeType.FIRING)
        over = [alert for alert in alerts if alert.resolved]
        if kind not in heard and over:
            kind, reason, alerts = NoticeType.RESOLVED, Reason.NEW_RESOLVED, over
        if kind not in heard:
            return None
        return Notice(kind, reason, now, group_id.channel, group_id.group_key, most_urgent_first(alerts), labels)

    def _write(self, notice: Notice) -> Body:
        return render(replace(notice, external_url=self.external_url), format_of(self.routes.channels[notice.channel]))


def most_urgent_first(alerts: Sequence[AlertFacts]) -> tuple[AlertFacts, ...]:
    """In the order in which they are kept when there is no room for all."""
    return tuple(sorted(alerts, key=lambda alert: (alert.resolved, -alert.severity.rank, alert.id)))
