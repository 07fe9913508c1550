"""Rows of the queue by where they stand, and the two ways to change them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Update, and_, bindparam, or_, update
from sqlalchemy.orm import Session

from monitor.store.pages import pages
from monitor.store.runs import close_runs
from monitor.store.tables import EndpointCheck
from monitor.store.vocabulary import RunStatus

MAX_ATTEMPTS = 3
# Longer than any lease, and than hosts' clocks differ: one that ends later was given before the clock was set back.
LONGEST_LEASE = timedelta(minutes=15)

HELD = EndpointCheck.status.in_((RunStatus.LEASED, RunStatus.RUNNING))


def is_open(check: type[EndpointCheck]) -> ColumnElement[bool]:
    """Written out in the statement, as the partial index has it: SQLite does not see that parameters say the same."""
    states = (RunStatus.QUEUED, RunStatus.LEASED, RunStatus.RUNNING)
    return check.status.in_(bindparam("open", states, expanding=True, literal_execute=True))


OPEN = is_open(EndpointCheck)


def lost(at: datetime) -> ColumnElement[bool]:
    """A lease that ran out: its owner is dead or hangs. One without an end (None) never is.

    An owner that lives brings its lease to the new time at its next heartbeat where the clock was set back.
    """
    until = EndpointCheck.lease_until
    return and_(HELD, or_(until < at, until > at + LONGEST_LEASE))


def waiting(at: datetime) -> ColumnElement[bool]:
    """To be had by whoever asks first."""
    return or_(EndpointCheck.status == RunStatus.QUEUED, lost(at))


def in_time(at: datetime) -> ColumnElement[bool]:
    """May still be begun."""
    return or_(EndpointCheck.deadline.is_(None), EndpointCheck.deadline > at)


def change(*where: ColumnElement[bool]) -> Update:
    return update(EndpointCheck).where(*where).execution_options(synchronize_session=False)


def end_open(
    session: Session,
    check_ids: Sequence[str],
    status: RunStatus,
    error_code: str | None,
    error: str | None,
    at: datetime,
) -> list[str]:
    """End those that are open, and the runs they left open; their ids."""
    ended: list[str] = []
    for some in pages(check_ids):
        ended_now = change(EndpointCheck.id.in_(some), OPEN).values(
            status=status, error_code=error_code, error=error, lease_until=None, finished_at=at
        )
        ended += session.scalars(ended_now.returning(EndpointCheck.id)).all()
    close_runs(session, ended, status, error_code or status.value, at)
    return sorted(ended)
