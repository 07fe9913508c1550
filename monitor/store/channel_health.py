"""How each channel fares: failed tries in a row, pauses its receiver asked for, and whether it is switched off."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from monitor.deliveries.attempt import Tried
from monitor.deliveries.retry import Again, Done, Step, SwitchOff
from monitor.store.delivery_records import ChannelState
from monitor.store.once import insert_once
from monitor.store.outbox import record_service_event
from monitor.store.tables import ChannelHealth
from monitor.store.text import foreign_text

# As many failed tries in a row, and the other channels are told.
DEGRADED_AFTER = 10
REASON_CHARS = 512
DEGRADED = "monitor.degraded"


def lock(session: Session, channels: Iterable[str]) -> dict[str, ChannelState]:
    """Hold channels until the transaction ends: one writer at a time gives numbers in each of their groups.

    In one order everywhere, so that two transactions wait for each other once, not in a circle.
    """
    return {channel: _locked(session, channel) for channel in sorted(set(channels))}


def _locked(session: Session, channel: str) -> ChannelState:
    insert_once(session, ChannelHealth, channel=channel, failures=0)
    query = select(ChannelHealth).where(ChannelHealth.channel == channel).with_for_update()
    return _state(session.scalars(query.execution_options(populate_existing=True)).one())


def states(session: Session) -> list[ChannelState]:
    """Every channel that something was ever sent to."""
    return [_state(row) for row in session.scalars(select(ChannelHealth).order_by(ChannelHealth.channel))]


def tried(session: Session, channel: str, delivery_id: str, outcome: Tried, step: Step, at: datetime) -> None:
    """Count a try. Where it makes a channel degraded, or loses a notice, the other channels are told."""
    before = _locked(session, channel)
    if isinstance(step, Done):
        _set(session, channel, failures=0, throttled_until=None, reason=None, ok_at=at)
        return
    failures = before.failures + 1
    reason = foreign_text(str(outcome), REASON_CHARS)
    pause = step.pause_until if isinstance(step, Again) else None
    _set(session, channel, failures=failures, reason=reason, throttled_until=pause or before.throttled_until)
    if isinstance(step, SwitchOff):
        _set(session, channel, disabled_at=step.at)
    if failures == DEGRADED_AFTER or not isinstance(step, Again):
        record_service_event(
            session,
            DEGRADED,
            f"channel:{channel}:{delivery_id}:{at.isoformat()}",
            labels={"channel": channel},
            data={"failures": failures, "reason": _told(step, reason)},
            at=at,
        )


def open_again(session: Session, channels: Iterable[str]) -> None:
    """Switch channels on and end their pauses: somebody says that they work again."""
    for channel in sorted(set(channels)):
        _set(session, channel, failures=0, throttled_until=None, disabled_at=None, reason=None)


def _told(step: Step, reason: str | None) -> str:
    if isinstance(step, SwitchOff):
        return "the receiver answered 410: the channel is switched off"
    if isinstance(step, Again):
        return f"{DEGRADED_AFTER} tries in a row failed; the last one: {reason}"
    return f"a notice was given up after its last try: {reason}"


def _set(session: Session, channel: str, **values: object) -> None:
    session.execute(update(ChannelHealth).where(ChannelHealth.channel == channel).values(**values))


def _state(row: ChannelHealth) -> ChannelState:
    return ChannelState(row.channel, row.failures, row.throttled_until, row.disabled_at, row.reason, row.ok_at)
