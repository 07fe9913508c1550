"""What channels hear of a check once it has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.store.entries import CheckEntry
from monitor.store.outbox import record_service_event
from monitor.store.pages import pages
from monitor.store.queue_reading import entries
from monitor.store.tables import Endpoint

RUN_FINISHED = "run.finished"


def key_of(check_id: str) -> str:
    """A check ends once, and is told once."""
    return f"check:{check_id}"


def told_of(entry: CheckEntry) -> dict[str, Any]:
    return {
        "check": entry.id,
        "trigger": entry.trigger.value,
        "status": entry.status.value,
        "verdict": None if entry.verdict is None else entry.verdict.value,
        "enrolled": entry.enrolled,
        "error": entry.error_code,
    }


def tell_finished(session: Session, check_ids: Sequence[str], at: datetime) -> None:
    """Tell of checks that ended without a worker's word, in the transaction that ended them."""
    ended = entries(session, check_ids).values()
    labels = _labels(session, sorted({entry.endpoint_id for entry in ended}))
    for entry in ended:
        record_service_event(
            session,
            RUN_FINISHED,
            key_of(entry.id),
            endpoint_id=entry.endpoint_id,
            labels={**labels[entry.endpoint_id], "provider": entry.provider, "model": entry.model},
            data=told_of(entry),
            at=at,
        )


def _labels(session: Session, endpoint_ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The labels of the configuration that each endpoint was last seen with."""
    return {
        row.id: row.labels
        for some in pages(endpoint_ids)
        for row in session.execute(select(Endpoint.id, Endpoint.labels).where(Endpoint.id.in_(some)))
    }
