"""What happens to checks that nobody works on: their bell is rung again, or they are ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from monitor.store import limits
from monitor.store.entries import Swept
from monitor.store.pages import pages
from monitor.store.queue_news import tell_finished
from monitor.store.queue_rows import HELD, MAX_ATTEMPTS, OPEN, change, end_open, lost, waiting
from monitor.store.queue_turns import IN_TURN, held_up
from monitor.store.runs import ABANDONED
from monitor.store.tables import EndpointCheck
from monitor.store.vocabulary import RunStatus

RING_AGAIN_AFTER = timedelta(seconds=10)
EXPIRED = "expired"
# Bells of one sweep: those of the others wait until these are begun.
_RUNG_AT_ONCE = 100
_MOST_CLOCK_SKEW = timedelta(minutes=1)


def sweep(session: Session, at: datetime, ring_again_after: timedelta = RING_AGAIN_AFTER) -> Swept:
    """End what came too late or lost its owner too often, and find those whose bell was not heard.

    The caller rings the bells after the transaction, then calls `rung`.
    """
    late = _lock(session, waiting(at), EndpointCheck.deadline <= at)
    too_late = "Its deadline passed before a worker was free and it was its turn at its endpoint."
    expired = end_open(session, late, RunStatus.EXPIRED, EXPIRED, too_late, at)
    hopeless = _lock(session, lost(at), EndpointCheck.attempt >= MAX_ATTEMPTS)
    why = f"{MAX_ATTEMPTS} workers in turn stopped before it was done."
    failed = end_open(session, hopeless, RunStatus.FAILED, ABANDONED, why, at)
    tell_finished(session, [*failed, *expired], at)
    limits.charge_ended(session, at)
    return Swept(tuple(_unheard(session, at, ring_again_after)), tuple(failed), tuple(expired))


def _lock(session: Session, *where: ColumnElement[bool]) -> Sequence[str]:
    """Those that nobody is writing at this moment: a row that is locked has an owner who lives."""
    found = select(EndpointCheck.id).where(OPEN, *where).order_by(EndpointCheck.queued_at, EndpointCheck.id)
    return session.scalars(found.with_for_update(skip_locked=True)).all()


def _unheard(session: Session, at: datetime, ring_again_after: timedelta) -> Sequence[str]:
    last = func.coalesce(EndpointCheck.rung_at, EndpointCheck.queued_at)
    # A time ahead of ours is from before the clock was set back.
    unheard = or_(last <= at - ring_again_after, last > at + _MOST_CLOCK_SKEW)
    # What is held up is rung for when it is its turn.
    found = select(EndpointCheck.id).where(OPEN, waiting(at), unheard, ~held_up(at))
    return session.scalars(found.order_by(*IN_TURN).limit(_RUNG_AT_ONCE)).all()


def abandoned(session: Session, at: datetime, older_than: timedelta, is_gone: Callable[[str], bool]) -> list[str]:
    """Checks in their callers' own processes that are gone, or that began more than `older_than` ago."""
    rows = session.execute(
        select(EndpointCheck.id, EndpointCheck.lease_owner, EndpointCheck.queued_at).where(
            OPEN, HELD, EndpointCheck.lease_until.is_(None)
        )
    )
    return [row.id for row in rows if row.queued_at < at - older_than or is_gone(row.lease_owner)]


def fail_abandoned(session: Session, check_ids: Sequence[str], at: datetime) -> None:
    """Mark those of the checks that are still open as failed, with the runs they left open."""
    end_open(session, check_ids, RunStatus.FAILED, ABANDONED, None, at)


def rung(session: Session, check_ids: Collection[str], at: datetime) -> None:
    """Note that the bell was rung for these checks."""
    for some in pages(sorted(check_ids)):
        session.execute(change(EndpointCheck.id.in_(some), OPEN).values(rung_at=at))
