"""Answers kept for requests that are sent again under the same key, so that nothing is done twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, select, update
from sqlalchemy.orm import Session

from monitor.store.once import insert_once
from monitor.store.session import Sessions
from monitor.store.tables import IdempotentAnswer

KEPT = timedelta(hours=24)
# Of a request whose process died before it could answer: after this it may be sent again.
AT_WORK = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class RequestKey:
    """What makes a request the same one: its key, who sends it, and where to."""

    key: str
    actor: str
    route: str


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Begun:
    """`answer` is what was answered before; None where the request is new or (`at_work`) still being answered.
    `differs`: the earlier request had another body."""

    answer: KeptAnswer | None = None
    at_work: bool = False
    differs: bool = False


def begin(session: Session, request: RequestKey, request_sha256: str, at: datetime) -> Begun:
    """Enter a request as being answered, unless it is there already."""
    session.execute(delete(IdempotentAnswer).where(_is(request), IdempotentAnswer.expires_at <= at))
    entered = insert_once(
        session,
        IdempotentAnswer,
        key=request.key,
        actor=request.actor,
        route=request.route,
        request_sha256=request_sha256,
        status=None,
        headers={},
        body=None,
        expires_at=at + AT_WORK,
    )
    if entered:
        return Begun()
    before = session.scalars(select(IdempotentAnswer).where(_is(request))).one()
    if before.request_sha256 != request_sha256:
        return Begun(differs=True)
    if before.status is None:
        return Begun(at_work=True)
    return Begun(answer=KeptAnswer(before.status, before.headers, before.body or b""))


def keep(session: Session, request: RequestKey, answer: KeptAnswer, at: datetime) -> None:
    session.execute(
        update(IdempotentAnswer)
        .where(_is(request))
        .values(status=answer.status, headers=dict(answer.headers), body=answer.body, expires_at=at + KEPT)
    )


def forget(session: Session, request: RequestKey) -> None:
    session.execute(delete(IdempotentAnswer).where(_is(request)))


def prune(session: Session, at: datetime) -> int:
    """Delete what has expired; how many answers that were."""
    expired = select(IdempotentAnswer.key).where(IdempotentAnswer.expires_at <= at)
    count = len(session.scalars(expired).all())
    session.execute(delete(IdempotentAnswer).where(IdempotentAnswer.expires_at <= at))
    return count


def _is(request: RequestKey) -> ColumnElement[bool]:
    return and_(
        IdempotentAnswer.key == request.key,
        IdempotentAnswer.actor == request.actor,
        IdempotentAnswer.route == request.route,
    )


class Idempotency:
    """Every method is one transaction."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def begin(self, request: RequestKey, request_sha256: str, at: datetime) -> Begun:
        with self._sessions.write() as session:
            return begin(session, request, request_sha256, at)

    def keep(self, request: RequestKey, answer: KeptAnswer, at: datetime) -> None:
        with self._sessions.write() as session:
            keep(session, request, answer, at)

    def forget(self, request: RequestKey) -> None:
        with self._sessions.write() as session:
            forget(session, request)

    def prune(self, at: datetime) -> int:
        with self._sessions.write() as session:
            return prune(session, at)
