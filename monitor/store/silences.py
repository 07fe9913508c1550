"""Silences: made, listed, ended early; never without an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from monitor.errors import NotFoundError, PreconditionFailedError, UsageError
from monitor.store.alert_records import SilenceRecord, silence_record
from monitor.store.ids import new_id
from monitor.store.keyset import Page, Window, read_page
from monitor.store.tables import Silence


def add_silence(
    session: Session,
    matchers: Mapping[str, str],
    *,
    starts_at: datetime,
    ends_at: datetime,
    author: str,
    comment: str,
    at: datetime,
) -> SilenceRecord:
    """Raises UsageError for one without matchers, which would silence everything, and for one that is over."""
    if not matchers:
        raise UsageError("A silence needs at least one label.", remedy="Name one, such as provider=acme.")
    if ends_at <= max(starts_at, at):
        raise UsageError("A silence has to end after it begins, and in the future.", remedy="Give a later end.")
    row = Silence(
        id=new_id("sil", at),
        matchers=dict(matchers),
        starts_at=starts_at,
        ends_at=ends_at,
        author=author,
        comment=comment,
        created_at=at,
        row_version=1,
    )
    session.add(row)
    session.flush()
    return silence_record(row)


def find_silence(session: Session, silence_id: str) -> SilenceRecord:
    """Raises NotFoundError where there is none of this id."""
    row = session.scalars(select(Silence).where(Silence.id == silence_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"There is no silence {silence_id}.", remedy="`monitor silence list` shows them.")
    return silence_record(row)


SILENCE_SORTS = {"starts_at": Silence.starts_at, "created_at": Silence.created_at}


def page_silences(session: Session, window: Window, *, not_over_at: datetime | None) -> Page[SilenceRecord]:
    """Silences, those that begin last first; with `not_over_at` only those that hold then or will."""
    query = select(Silence)
    if not_over_at is not None:
        query = query.where(Silence.ends_at > not_over_at)
    page = read_page(session, query, SILENCE_SORTS, Silence.id, window)
    return page.of(map(silence_record, page.items))


def active_silences(session: Session, at: datetime) -> Sequence[SilenceRecord]:
    query = select(Silence).where(Silence.starts_at <= at, Silence.ends_at > at).order_by(Silence.id)
    return [silence_record(row) for row in session.scalars(query)]


def expire_silence(session: Session, silence_id: str, *, at: datetime, expected: int | None) -> SilenceRecord:
    """End a silence now; one that is over stays as it is. `expected` is the row_version that the caller saw."""
    found = find_silence(session, silence_id)
    check_version(f"Silence {silence_id}", found.row_version, expected)
    if found.ends_at <= at:
        return found
    ended = (
        update(Silence)
        .where(Silence.id == silence_id, Silence.row_version == found.row_version)
        .values(ends_at=at, row_version=found.row_version + 1)
        .returning(Silence.id)
        .execution_options(synchronize_session=False)
    )
    if session.execute(ended).first() is None:
        raise changed_meanwhile(f"Silence {silence_id}")
    session.expire_all()
    return find_silence(session, silence_id)


def check_version(what: str, found: int, expected: int | None) -> None:
    """Raises PreconditionFailedError where it is not the version that the caller saw."""
    if expected is not None and found != expected:
        raise changed_meanwhile(what)


def changed_meanwhile(what: str) -> PreconditionFailedError:
    return PreconditionFailedError(f"{what} has changed meanwhile.", remedy="Read it again, then decide.")
