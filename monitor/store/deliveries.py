"""Deliveries: messages that are kept until their receiver has them, in order within a channel and group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from monitor.alerts.states import AlertState
from monitor.deliveries.attempt import Tried
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.formats import Body
from monitor.deliveries.notice import Notice, Reason
from monitor.deliveries.retry import Step
from monitor.deliveries.routes import Target
from monitor.errors import NotFoundError
from monitor.store import (
    channel_health,
    delivery_again,
    delivery_lines,
    delivery_reading,
    notify_groups,
    outbox,
)
from monitor.store.access import audit
from monitor.store.delivery_again import Write
from monitor.store.delivery_lines import entry_of
from monitor.store.delivery_records import (
    AlertStep,
    AttemptRecord,
    ChannelState,
    ClaimedDelivery,
    DeliveryEntry,
    EventStep,
    GroupId,
    Told,
)
from monitor.store.keyset import Page, Window
from monitor.store.notify_groups import Choose, Home
from monitor.store.session import Sessions
from monitor.store.tables import AlertEvent, Delivery, ServiceEvent
from monitor.store.vocabulary import DeliveryStatus

# A group's decision in the form of a message, by why, which alerts and the group's labels; None: not to be sent.
NoticeOf = Callable[[Reason, Sequence[AlertFacts], Mapping[str, str]], Notice | None]


class Deliveries:
    """The deliveries of one database. Every method is one transaction."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def alert_steps(self, limit: int) -> list[AlertStep]:
        with self._sessions.read() as session:
            return outbox.open_alert_steps(session, limit)

    def event_steps(self, limit: int) -> list[EventStep]:
        with self._sessions.read() as session:
            return outbox.open_events(session, limit)

    def fan_out_alert(
        self, step: AlertStep, targets: Sequence[Target], at_once: Sequence[Notice], write: Write, at: datetime
    ) -> list[str]:
        """Put a step of an alert into its groups, and enter what is told at once; the ids of the latter.

        `at_once` go to channels that the alert was announced to. Nothing where another process has done so.
        """
        alert_id = step.alert.id
        with self._sessions.write() as session:
            knowing = notify_groups.channels_of(session, alert_id)
            channel_health.lock(session, [*knowing, *(target.channel for target in targets)])
            if not outbox.take_step(session, AlertEvent, step.event_id, at):
                return []
            for target in targets:
                notify_groups.join(session, target, alert_id, step.to_state, step.at)
            if step.to_state is AlertState.RESOLVED:
                # Routes lead to the others no more, but they heard it fire.
                notify_groups.wake(session, alert_id, {*knowing} - {target.channel for target in targets}, at)
            told = {t.channel for t in targets if alert_id in notify_groups.told_firing(session, t)}
            return [
                delivery_lines.add(session, notice, write(notice), at) for notice in at_once if notice.channel in told
            ]

    def fan_out_event(self, step: EventStep, notices: Sequence[Notice], write: Write, at: datetime) -> list[str]:
        """Enter an event's message for each of its channels. Nothing where another process has done so."""
        with self._sessions.write() as session:
            channel_health.lock(session, [notice.channel for notice in notices])
            if not outbox.take_step(session, ServiceEvent, step.event_id, at):
                return []
            return [delivery_lines.add(session, notice, write(notice), at) for notice in notices]

    def due_groups(self, at: datetime, limit: int) -> list[GroupId]:
        with self._sessions.read() as session:
            return notify_groups.due_groups(session, at, limit)

    def flush(
        self, group_id: GroupId, home: Home, choose: Choose, notice_of: NoticeOf, write: Write, at: datetime
    ) -> str | None:
        """Decide a group, and enter the message that `notice_of` makes of it; its id."""
        with self._sessions.write() as session:
            channel_health.lock(session, [group_id.channel])
            decision = notify_groups.settle(session, group_id, home, choose, at)
            if decision is None or decision.reason is None:
                return None
            labels = notify_groups.labels_of(session, group_id.channel, group_id.group_key)
            notice = notice_of(decision.reason, decision.alerts, labels)
            return None if notice is None else delivery_lines.add(session, notice, write(notice), at)

    def drop_group(self, group_id: GroupId) -> None:
        with self._sessions.write() as session:
            notify_groups.drop(session, group_id)

    def stale_lines(self, at: datetime) -> list[tuple[str, str]]:
        with self._sessions.read() as session:
            return delivery_again.stale_lines(session, at)

    def fold(self, channel: str, group_key: str, write: Write, at: datetime) -> str | None:
        with self._sessions.write() as session:
            return delivery_again.fold(session, channel, group_key, write, at)

    def due(self, at: datetime, limit: int = 500) -> list[str]:
        with self._sessions.read() as session:
            return delivery_lines.due(session, at, limit)

    def channel_of(self, delivery_id: str) -> str | None:
        with self._sessions.read() as session:
            return delivery_lines.channel_of(session, delivery_id)

    def claim(self, delivery_id: str, owner: str, at: datetime, *, per_minute: int) -> ClaimedDelivery | None:
        with self._sessions.write() as session:
            return delivery_lines.claim(session, delivery_id, owner, at, per_minute=per_minute)

    def finish_try(self, claimed: ClaimedDelivery, outcome: Tried, step: Step, at: datetime) -> bool:
        with self._sessions.write() as session:
            return delivery_lines.finish_try(session, claimed, outcome, step, at)

    def cancel(self, delivery_ids: Collection[str], why: str, at: datetime) -> None:
        with self._sessions.write() as session:
            delivery_lines.cancel(session, delivery_ids, why, at)

    def following(self, entry: DeliveryEntry) -> str | None:
        with self._sessions.read() as session:
            return delivery_lines.following(session, entry)

    def try_channel(self, notice: Notice, body: Body, at: datetime, actor: str) -> DeliveryEntry:
        """Enter a test message, in place of one that still waits, and switch its channel on."""
        with self._sessions.write() as session:
            delivery_id = delivery_again.try_channel(session, notice, body, at)
            audit(session, actor, "channel.test", notice.channel, {"delivery": delivery_id}, at)
            return entry_of(session.get_one(Delivery, delivery_id))

    def redeliver(self, ids: Collection[str], at: datetime, actor: str | None = None) -> list[str]:
        """Raises NotFoundError for an id that is not there. An `actor` is noted in the audit log."""
        with self._sessions.write() as session:
            for delivery_id in ids:
                if delivery_lines.channel_of(session, delivery_id) is None:
                    raise _no_delivery(delivery_id)
            again = delivery_again.redeliver(session, ids, at)
            if actor is not None:
                for delivery_id in again:
                    audit(session, actor, "delivery.redeliver", delivery_id, {}, at)
            return again

    def redeliver_between(self, channel: str | None, since: datetime, until: datetime, at: datetime) -> list[str]:
        with self._sessions.write() as session:
            return delivery_again.redeliver_between(session, channel, since, until, at)

    def page(
        self, window: Window, *, channel: str | None = None, status: DeliveryStatus | None = None
    ) -> Page[DeliveryEntry]:
        with self._sessions.read() as session:
            return delivery_reading.entries(session, window, channel=channel, status=status)

    def entry(self, delivery_id: str) -> DeliveryEntry:
        """Raises NotFoundError where there is no such delivery."""
        with self._sessions.read() as session:
            found = delivery_reading.find(session, delivery_id)
        if found is None:
            raise _no_delivery(delivery_id)
        return found

    def attempts(self, delivery_id: str) -> list[AttemptRecord]:
        with self._sessions.read() as session:
            return delivery_reading.attempts_of(session, delivery_id)

    def told(self, alert_ids: Sequence[str]) -> dict[str, tuple[Told, ...]]:
        """Of each alert the latest message to every channel that was sent one, or is to be."""
        with self._sessions.read() as session:
            return delivery_reading.told(session, alert_ids)

    def channels(self) -> list[ChannelState]:
        with self._sessions.read() as session:
            return channel_health.states(session)

    def pending(self) -> dict[str, int]:
        with self._sessions.read() as session:
            return delivery_reading.pending(session)

    def prune(self, before: datetime, limit: int = 5000) -> int:
        with self._sessions.write() as session:
            return delivery_reading.prune(session, before, limit)


def _no_delivery(delivery_id: str) -> NotFoundError:
    return NotFoundError(
        f"There is no delivery {delivery_id}.", remedy="`monitor webhook deliveries` shows what there is."
    )
