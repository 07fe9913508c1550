"""Signs of life of the service's processes, and facts about the installation as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from monitor.store.entries import Beat
from monitor.store.once import insert_once
from monitor.store.session import Sessions
from monitor.store.tables import Setting, WorkerBeat

# The kind of a process that is no more.
STOPPED = "stopped"


def seen(session: Session, name: str, kind: str, queues: Sequence[str], version: str, at: datetime) -> None:
    """A process lives: its first sign of life counts as progress, later ones do not."""
    values = {"kind": kind, "queues": list(queues), "version": version, "seen_at": at}
    insert_once(session, WorkerBeat, name=name, started_at=at, progress_at=at, **values)
    session.execute(update(WorkerBeat).where(WorkerBeat.name == name).values(**values))


def progress(session: Session, name: str, at: datetime) -> None:
    """A process finished some work."""
    session.execute(update(WorkerBeat).where(WorkerBeat.name == name).values(seen_at=at, progress_at=at))


def stopped(session: Session, name: str) -> None:
    """A process ended as it was to. What it did last stays known, but it lives nowhere any more."""
    session.execute(update(WorkerBeat).where(WorkerBeat.name == name).values(kind=STOPPED))


def every_beat(session: Session) -> list[Beat]:
    """All processes that were seen, the latest sign of life first."""
    rows = session.scalars(select(WorkerBeat).order_by(WorkerBeat.seen_at.desc(), WorkerBeat.name))
    return [
        Beat(row.name, row.kind, tuple(row.queues), row.version, row.started_at, row.seen_at, row.progress_at)
        for row in rows
    ]


def forget(session: Session, seen_before: datetime) -> None:
    """Drop the processes that gave no sign of life since."""
    session.execute(delete(WorkerBeat).where(WorkerBeat.seen_at < seen_before))


def setting(session: Session, key: str) -> Any:
    """The value under a key, None where there is none."""
    return session.scalars(select(Setting.value).where(Setting.key == key)).one_or_none()


def put_setting(session: Session, key: str, value: Any, at: datetime) -> None:
    """`value` is a JSON value."""
    insert_once(session, Setting, key=key, value=value, updated_at=at)
    session.execute(update(Setting).where(Setting.key == key).values(value=value, updated_at=at))


def claim_setting(session: Session, key: str, value: Any, at: datetime) -> Any:
    """Put a value unless there is one; the one that is there now."""
    insert_once(session, Setting, key=key, value=value, updated_at=at)
    return setting(session, key)


class Beats:
    """Beats and settings of one database. Every method is the function of its name in one transaction."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def seen(self, name: str, kind: str, queues: Sequence[str], version: str, at: datetime) -> None:
        with self._sessions.write() as session:
            seen(session, name, kind, queues, version, at)

    def progress(self, name: str, at: datetime) -> None:
        with self._sessions.write() as session:
            progress(session, name, at)

    def stopped(self, name: str) -> None:
        with self._sessions.write() as session:
            stopped(session, name)

    def all(self) -> list[Beat]:
        with self._sessions.read() as session:
            return every_beat(session)

    def forget(self, seen_before: datetime) -> None:
        with self._sessions.write() as session:
            forget(session, seen_before)

    def setting(self, key: str) -> Any:
        with self._sessions.read() as session:
            return setting(session, key)

    def put_setting(self, key: str, value: Any, at: datetime) -> None:
        with self._sessions.write() as session:
            put_setting(session, key, value, at)

    def claim_setting(self, key: str, value: Any, at: datetime) -> Any:
        with self._sessions.write() as session:
            return claim_setting(session, key, value, at)
