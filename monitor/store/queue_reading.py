"""What the queue holds: its checks, their last slots, and what waits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, inspect, select
from sqlalchemy.orm import Session

from monitor.errors import UsageError
from monitor.store.entries import Backlog, CheckEntry
from monitor.store.pages import pages
from monitor.store.queue_rows import OPEN
from monitor.store.tables import Endpoint, EndpointCheck, Model, Provider
from monitor.store.vocabulary import RunStatus


def entry(session: Session, check_id: str) -> CheckEntry:
    """Raises UsageError where there is no such check."""
    found = entries(session, [check_id])
    if check_id not in found:
        raise UsageError(f"There is no check {check_id}.", remedy="`monitor history --json` shows the ids.")
    return found[check_id]


def entries(session: Session, check_ids: Sequence[str]) -> dict[str, CheckEntry]:
    """By their ids, in the given order."""
    found: dict[str, CheckEntry] = {}
    for some in pages(check_ids):
        rows = session.execute(
            select(EndpointCheck, Provider.slug, Model.slug)
            .join(Endpoint, Endpoint.id == EndpointCheck.endpoint_id)
            .join(Provider, Provider.id == Endpoint.provider_id)
            .join(Model, Model.id == Endpoint.model_id)
            .where(EndpointCheck.id.in_(some))
            .execution_options(populate_existing=True)
        )
        found |= {row.id: _entry(row, provider, model) for row, provider, model in rows}
    return {check_id: found[check_id] for check_id in check_ids if check_id in found}


def _entry(row: EndpointCheck, provider: str, model: str) -> CheckEntry:
    columns = {column.key: getattr(row, column.key) for column in inspect(EndpointCheck).column_attrs}
    return CheckEntry(provider=provider, model=model, **columns)


def last_slots(session: Session, schedule: str, endpoint_ids: Sequence[str], at: datetime) -> dict[str, datetime]:
    """The latest slot of a schedule, up to `at`, that each endpoint was entered for; one that never was is not in it.

    Slots beyond `at` were entered while a clock was wrong: they are not to keep the schedule from its work until then.
    """
    # A look into the index for each endpoint, however long the past is.
    latest = (
        select(func.max(EndpointCheck.slot_at))
        .where(
            EndpointCheck.schedule == schedule,
            EndpointCheck.endpoint_id == Endpoint.id,
            EndpointCheck.slot_at <= at,
        )
        .scalar_subquery()
    )
    rows = [
        row
        for some in pages(endpoint_ids)
        for row in session.execute(select(Endpoint.id, latest).where(Endpoint.id.in_(some)))
    ]
    return {endpoint_id: slot_at for endpoint_id, slot_at in rows if slot_at is not None}


def backlog(session: Session) -> Backlog:
    """What waits for a worker."""
    count, oldest = session.execute(
        select(func.count(), func.min(EndpointCheck.queued_at)).where(OPEN, EndpointCheck.status == RunStatus.QUEUED)
    ).one()
    return Backlog(count, oldest)
