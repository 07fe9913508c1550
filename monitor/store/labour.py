"""What a worker finished, what waits for it, and what it works on."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from monitor.store.figures import queues as waiting_in
from monitor.store.tables import EndpointCheck, WorkerBeat
from monitor.store.vocabulary import RunStatus


def progress_at(session: Session, name: str) -> datetime | None:
    """When the worker of this name last finished a task; None where it never did."""
    return session.scalars(select(WorkerBeat.progress_at).where(WorkerBeat.name == name)).one_or_none()


def due_since(session: Session, queues: Collection[str], at: datetime) -> datetime | None:
    """Since when the oldest work of these queues waits; None where nothing does."""
    waiting = waiting_in(session, at)
    found = [waiting[queue].oldest for queue in queues if queue in waiting]
    return min((oldest for oldest in found if oldest is not None), default=None)


def busy_until(session: Session, host: str) -> datetime | None:
    """The end of the last lease that any process of a machine holds; None where none holds one."""
    return session.scalar(
        select(func.max(EndpointCheck.lease_until)).where(
            EndpointCheck.status.in_((RunStatus.LEASED, RunStatus.RUNNING)),
            EndpointCheck.lease_owner.startswith(f"{host}:", autoescape=True),
        )
    )
