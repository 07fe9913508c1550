"""Whose turn it is: the checks of one endpoint are made one after the other, those that somebody waits for first.

Two at once would load the endpoint twice, measure each other, and both enrol. What is made in a caller's own process
(`monitor probe`) neither waits nor is waited for: nobody could tell that its process is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from monitor.store.queue_rows import LONGEST_LEASE, MAX_ATTEMPTS, OPEN, in_time, is_open, waiting
from monitor.store.tables import Endpoint, EndpointCheck
from monitor.store.vocabulary import RunStatus, Trigger

_SCHEDULED = EndpointCheck.trigger == Trigger.SCHEDULE
# Those that somebody waits for go first.
IN_TURN = (_SCHEDULED, EndpointCheck.queued_at, EndpointCheck.id)
_other = aliased(EndpointCheck)


def has_turn(session: Session, check_id: str, endpoint_id: str, at: datetime) -> bool:
    """Whether nothing else of its endpoint is being made, or goes before it. The caller holds the row of the check,
    which waits.

    Whatever one waits for can be claimed itself or ends with its lease, so that none waits for ever.
    """
    # Two that are claimed at once would not see each other. Behind the check's row, as in `conclude`.
    session.execute(select(Endpoint.id).where(Endpoint.id == endpoint_id).with_for_update(key_share=True))
    waits = or_(held_up(at), and_(_SCHEDULED, _asked_for(at)))
    return session.scalars(select(EndpointCheck.id).where(EndpointCheck.id == check_id, ~waits)).first() is not None


def held_up(at: datetime) -> ColumnElement[bool]:
    """Of a check that waits: another one of its endpoint is being made."""
    held = _other.status.in_((RunStatus.LEASED, RunStatus.RUNNING))
    made = select(_other.endpoint_id).where(is_open(_other), held, _other.lease_until.between(at, at + LONGEST_LEASE))
    return EndpointCheck.endpoint_id.in_(made)


def _asked_for(at: datetime) -> ColumnElement[bool]:
    """Of a scheduled check: somebody waits for another one of its endpoint, which may begin."""
    queued = and_(_other.status == RunStatus.QUEUED, _other.trigger != Trigger.SCHEDULE)
    begins = or_(_other.deadline.is_(None), _other.deadline > at)
    return EndpointCheck.endpoint_id.in_(select(_other.endpoint_id).where(is_open(_other), queued, begins))


def next_in_turn(session: Session, endpoint_id: str, at: datetime) -> str | None:
    """The check of an endpoint that goes next; None where none waits."""
    # By the few that are open: an index over its checks would lead through all of an endpoint's past.
    of_endpoint = func.coalesce(EndpointCheck.endpoint_id, "") == endpoint_id
    return session.scalars(_can_begin(at).where(of_endpoint).limit(1)).first()


def first_in_line(session: Session, most: int, at: datetime) -> Sequence[str]:
    """The ids of at most so many checks, of all endpoints, that go next where a worker is free."""
    return session.scalars(_can_begin(at).where(~held_up(at)).limit(most)).all()


def _can_begin(at: datetime) -> Select[str]:
    found = select(EndpointCheck.id).where(OPEN, waiting(at), in_time(at), EndpointCheck.attempt < MAX_ATTEMPTS)
    return found.order_by(*IN_TURN)
