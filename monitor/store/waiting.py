"""Which checks go next where a worker is free: of all endpoints, those that somebody waits for first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.store.queue_rows import MAX_ATTEMPTS, OPEN, in_time, waiting
from monitor.store.queue_turns import held_up
from monitor.store.tables import EndpointCheck
from monitor.store.vocabulary import Trigger


def first_in_line(session: Session, most: int, at: datetime) -> Sequence[str]:
    """The ids of at most so many checks that can be begun now."""
    found = select(EndpointCheck.id).where(
        OPEN, waiting(at), in_time(at), EndpointCheck.attempt < MAX_ATTEMPTS, ~held_up(at)
    )
    scheduled = EndpointCheck.trigger == Trigger.SCHEDULE
    return session.scalars(found.order_by(scheduled, EndpointCheck.queued_at, EndpointCheck.id).limit(most)).all()
