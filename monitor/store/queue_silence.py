"""Why an endpoint gives no verdict, where that is a fault of ours and not the endpoint's."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from monitor.store.queue_rows import OPEN, waiting
from monitor.store.queue_sweep import EXPIRED
from monitor.store.queue_turns import held_up
from monitor.store.tables import EndpointCheck
from monitor.store.vocabulary import Trigger
from probes.errors import ProbeError

_THEIRS = {ProbeError.code, *(error.code for error in ProbeError.__subclasses__())}
# Checks end in another order than they were entered in, but by no more than these.
_OF_LATE = 20


def our_fault(session: Session, endpoint_id: str, at: datetime) -> str | None:
    """The code of the fault: a check whose time has come waits for a worker (`expired`, as it will be), or the last one
    that ended failed on our side. None where there is no such fault."""
    return EXPIRED if _waits(session, endpoint_id, at) else _last_error(session, endpoint_id, at)


def _waits(session: Session, endpoint_id: str, at: datetime) -> bool:
    # By the few that are open, as in `next_in_turn`. One behind a check that is being made waits for that.
    of_endpoint = func.coalesce(EndpointCheck.endpoint_id, "") == endpoint_id
    found = select(EndpointCheck.id).where(OPEN, of_endpoint, waiting(at), EndpointCheck.slot_at <= at, ~held_up(at))
    return session.scalars(found.limit(1)).first() is not None


def _last_error(session: Session, endpoint_id: str, at: datetime) -> str | None:
    # `monitor probe` may run where the service does not.
    of_late = (
        select(EndpointCheck.finished_at, EndpointCheck.error_code)
        .where(
            EndpointCheck.endpoint_id == endpoint_id,
            EndpointCheck.queued_at <= at,
            EndpointCheck.finished_at.is_not(None),
            EndpointCheck.trigger.not_in((Trigger.CLI, Trigger.CI)),
        )
        .order_by(EndpointCheck.queued_at.desc(), EndpointCheck.id.desc())
        .limit(_OF_LATE)
        .subquery()
    )
    last = session.execute(select(of_late.c.error_code).order_by(of_late.c.finished_at.desc()).limit(1)).first()
    return None if last is None or last.error_code in _THEIRS else last.error_code
