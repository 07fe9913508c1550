"""The rows of private eval sets: names, counts and hashes in the open, and blobs that only monitor/suites can open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from monitor.store.tables import Suite, SuiteChunk, SuiteVersion


@dataclass(frozen=True, slots=True)
class SuiteRecord:
    """One version of a suite."""

    name: str
    version: int
    sha256: str
    format: str
    items: int
    chunks: int
    key_id: str
    head: bytes
    imported_by: str
    imported_at: datetime


def versions(session: Session, name: str | None = None) -> list[SuiteRecord]:
    """The versions of one suite, or of all by name; the one in use, which was imported last, comes first."""
    found = select(SuiteVersion).order_by(
        SuiteVersion.suite, SuiteVersion.imported_at.desc(), SuiteVersion.version.desc()
    )
    return [_record(row) for row in session.scalars(found if name is None else found.where(SuiteVersion.suite == name))]


def key_ids(session: Session) -> set[str]:
    """The keys that the suites of this database are sealed with."""
    return set(session.scalars(select(SuiteVersion.key_id).distinct()))


def reuse(session: Session, name: str, sha256: str, at: datetime) -> SuiteRecord | None:
    """The version that has these items already, in use again from now on; None where there is none."""
    same = (SuiteVersion.suite == name, SuiteVersion.sha256 == sha256)
    found = session.scalars(update(SuiteVersion).where(*same).values(imported_at=at).returning(SuiteVersion)).first()
    return None if found is None else _record(found)


def next_version(session: Session, name: str, at: datetime) -> int:
    """The number of a suite's next version; the suite is made if it is new."""
    if session.get(Suite, name) is None:
        session.add(Suite(name=name, created_at=at))
        session.flush()
    return 1 + (session.scalar(select(func.max(SuiteVersion.version)).where(SuiteVersion.suite == name)) or 0)


def add_version(session: Session, record: SuiteRecord, sealed: Iterable[bytes]) -> None:
    session.add(
        SuiteVersion(
            suite=record.name,
            version=record.version,
            sha256=record.sha256,
            format=record.format,
            items=record.items,
            chunks=record.chunks,
            key_id=record.key_id,
            head=record.head,
            imported_by=record.imported_by,
            imported_at=record.imported_at,
        )
    )
    session.flush()
    for position, blob in enumerate(sealed):
        session.add(SuiteChunk(suite=record.name, version=record.version, position=position, sealed=blob))
        # One at a time, and not kept: a suite may be larger than memory should be.
        session.flush()
        session.expunge_all()


def chunk(session: Session, name: str, version: int, position: int) -> bytes | None:
    found = session.get(SuiteChunk, (name, version, position))
    return None if found is None else found.sealed


def remove(session: Session, name: str) -> bool:
    """Delete a suite with all its versions; whether there was one."""
    session.execute(delete(SuiteChunk).where(SuiteChunk.suite == name))
    session.execute(delete(SuiteVersion).where(SuiteVersion.suite == name))
    return session.scalars(delete(Suite).where(Suite.name == name).returning(Suite.name)).first() is not None


def _record(row: SuiteVersion) -> SuiteRecord:
    return SuiteRecord(
        name=row.suite,
        version=row.version,
        sha256=row.sha256,
        format=row.format,
        items=row.items,
        chunks=row.chunks,
        key_id=row.key_id,
        head=row.head,
        imported_by=row.imported_by,
        imported_at=row.imported_at,
    )
