"""What a run found of how the serving stack has changed: into the log of changes, and once to whoever is to hear."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from monitor.store.changes import log_stack_changes
from monitor.store.endpoints import find_endpoint
from monitor.store.outbox import record_service_event
from monitor.store.records import RunResult
from monitor.store.tables import Run
from monitor.store.vocabulary import RunStatus

STACK_CHANGED = "provider.stack_changed"


def tell_stack_changes(session: Session, run: Run, result: RunResult, at: datetime) -> None:
    """Of a whole run alone: one that was broken off was refused some of its answers, which are habits as well. What it
    saw is found again."""
    if result.status is not RunStatus.SUCCEEDED:
        return
    new = log_stack_changes(session, run.endpoint_id, result.stack_changes, at)
    if not new:
        return
    endpoint = find_endpoint(session, run.endpoint_id)
    record_service_event(
        session,
        STACK_CHANGED,
        f"stack:{run.id}",
        endpoint_id=run.endpoint_id,
        labels={**endpoint.labels, "provider": endpoint.provider, "model": endpoint.model},
        data={"run": run.id, "changes": len(new), "reason": "; ".join(new)},
        at=at,
    )
