"""The log of changes: one line for everything that may explain a break in a chart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from monitor.store.tables import Baseline, ChangeEvent
from monitor.store.vocabulary import ChangeKind
from probes.plan import ProbeKind

_STACK = "serving stack: "
_BETWEEN = " · "


def log_change(session: Session, endpoint_id: str, kind: ChangeKind, text: str, at: datetime) -> None:
    session.add(ChangeEvent(endpoint_id=endpoint_id, kind=kind, text=text, at=at))


def log_stack_changes(session: Session, endpoint_id: str, changes: Sequence[str], at: datetime) -> list[str]:
    """One line for the changes that were not told yet since the baseline was set, which every later run finds again;
    these changes."""
    if not changes:
        return []
    since = select(func.max(Baseline.created_at)).where(
        Baseline.endpoint_id == endpoint_id, Baseline.probe == ProbeKind.PROTOCOL
    )
    told = select(ChangeEvent.text).where(
        ChangeEvent.endpoint_id == endpoint_id,
        ChangeEvent.kind == ChangeKind.STACK,
        ChangeEvent.at >= since.scalar_subquery(),
    )
    known = _BETWEEN.join(text.removeprefix(_STACK) for text in session.scalars(told))
    new = [change for change in changes if f"{_BETWEEN}{change}{_BETWEEN}" not in f"{_BETWEEN}{known}{_BETWEEN}"]
    if new:
        log_change(session, endpoint_id, ChangeKind.STACK, _STACK + _BETWEEN.join(new), at)
    return new
