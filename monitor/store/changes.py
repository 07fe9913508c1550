"""The log of changes: one line for everything that may explain a break in a chart."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from monitor.store.tables import ChangeEvent
from monitor.store.vocabulary import ChangeKind


def log_change(session: Session, endpoint_id: str, kind: ChangeKind, text: str, at: datetime) -> None:
    session.add(ChangeEvent(endpoint_id=endpoint_id, kind=kind, text=text, at=at))
