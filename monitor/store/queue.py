"""The queue of record: who works on a check is decided here, in a transaction that holds its row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, exists, func, literal, select
from sqlalchemy.orm import Session

from monitor.drift.rule import Verdict
from monitor.errors import LeaseLostError, UsageError
from monitor.store.access import audit
from monitor.store.columns import UtcDateTime
from monitor.store.entries import Backlog, CheckEntry, CheckRequest, Claimed, Lease, Swept
from monitor.store.ids import new_id
from monitor.store.once import insert_new
from monitor.store.queue_news import tell_finished
from monitor.store.queue_reading import backlog, entries, entry, last_slots
from monitor.store.queue_rows import HELD, MAX_ATTEMPTS, change, end_open, in_time, waiting
from monitor.store.queue_sweep import RING_AGAIN_AFTER, rung, sweep
from monitor.store.queue_turns import has_turn
from monitor.store.runs import reopen_runs
from monitor.store.session import Sessions
from monitor.store.tables import EndpointCheck, Run
from monitor.store.text import foreign_text
from monitor.store.vocabulary import RunStatus, Trigger

_BROKEN_OFF = (RunStatus.CANCELLED, RunStatus.FAILED)
LEASE = timedelta(seconds=60)
HEARTBEAT = timedelta(seconds=15)


def enqueue(session: Session, requests: Iterable[CheckRequest], at: datetime) -> list[CheckEntry]:
    """Enter the requests that are not there yet; those that are new, in the order of their keys."""
    # In one order everywhere, so that two that enter the same keys wait for each other once, not in a circle.
    rows = [_row(request, at) for request in sorted(requests, key=lambda request: request.idempotency_key)]
    return list(entries(session, insert_new(session, EndpointCheck, rows)).values())


def _row(request: CheckRequest, at: datetime) -> dict[str, Any]:
    return {
        "id": new_id("chk", at),
        "idempotency_key": request.idempotency_key,
        "endpoint_id": request.endpoint_id,
        "trigger": request.trigger,
        "schedule": request.schedule,
        "confirms": request.confirms,
        "options": dict(request.options),
        "nonce": request.nonce,
        "status": RunStatus.QUEUED,
        "attempt": 0,
        "lease_owner": None,
        "started_at": None,
        "done": 0,
        "planned": 0,
        "enrolled": False,
        "slot_at": request.slot_at,
        "deadline": request.deadline,
        "queued_at": at,
    }


def enter_running(session: Session, request: CheckRequest, owner: str, at: datetime) -> Claimed:
    """Enter a check that its caller's own process makes at once; nobody takes it over.

    Raises UsageError where its key is taken.
    """
    row = _row(request, at) | {"status": RunStatus.RUNNING, "attempt": 1, "lease_owner": owner, "started_at": at}
    made = entries(session, insert_new(session, EndpointCheck, [row]))
    if not made:
        raise UsageError(f"There is a check {request.idempotency_key} already.", remedy="Begin a new check.")
    (entered,) = made.values()
    return Claimed(Lease(entered.id, owner, entered.attempt, None), entered)


def broken_off(session: Session, endpoint_id: str, options: Mapping[str, Any], since: datetime) -> CheckEntry | None:
    """The last check that a caller's own process began after `since` with these options, if it came to no end of its
    own: stopped, failed, or its process gone."""
    # What is JSON can be compared in every database only here.
    latest = session.execute(
        select(EndpointCheck.id, EndpointCheck.status, EndpointCheck.options)
        .where(
            EndpointCheck.endpoint_id == endpoint_id,
            EndpointCheck.trigger == Trigger.CLI,
            EndpointCheck.queued_at > since,
        )
        .order_by(EndpointCheck.queued_at.desc(), EndpointCheck.id.desc())
    )
    last = next((row for row in latest if row.options == dict(options)), None)
    return entry(session, last.id) if last is not None and last.status in _BROKEN_OFF else None


def reopen(session: Session, check_id: str, owner: str) -> tuple[Claimed, int]:
    """Go on with a check that was broken off, in its caller's own process, with those of its runs that were; what
    these were entered to have cost by then, in micro-USD.

    Raises UsageError where it is open again already, or came to its end.
    """
    again = change(EndpointCheck.id == check_id, EndpointCheck.status.in_(_BROKEN_OFF)).values(
        status=RunStatus.RUNNING,
        attempt=EndpointCheck.attempt + 1,
        lease_owner=owner,
        lease_until=None,
        error_code=None,
        error=None,
        finished_at=None,
    )
    attempt = session.scalars(again.returning(EndpointCheck.attempt)).one_or_none()
    if attempt is None:
        raise UsageError(f"Check {check_id} is not broken off any more.", remedy="Begin a new check.")
    settled = reopen_runs(session, check_id, owner)
    return Claimed(Lease(check_id, owner, attempt, None), entry(session, check_id), begun=True), settled


def claim(session: Session, check_id: str, owner: str, at: datetime, duration: timedelta = LEASE) -> Claimed | None:
    """Take a check that waits or whose owner was lost; None where there is nothing to take: a bell rung twice, or
    another check of its endpoint goes first."""
    wanted = session.execute(
        select(EndpointCheck.endpoint_id)
        .where(EndpointCheck.id == check_id, waiting(at), in_time(at), EndpointCheck.attempt < MAX_ATTEMPTS)
        .with_for_update()
    ).one_or_none()
    if wanted is None or not has_turn(session, check_id, wanted.endpoint_id, at):
        return None
    attempt = session.scalars(
        change(EndpointCheck.id == check_id)
        .values(
            status=RunStatus.LEASED,
            attempt=EndpointCheck.attempt + 1,
            lease_owner=owner,
            lease_until=at + duration,
            started_at=func.coalesce(EndpointCheck.started_at, literal(at, UtcDateTime)),
        )
        .returning(EndpointCheck.attempt)
    ).one()
    begun = session.scalars(select(exists().where(Run.check_id == check_id))).one()
    lease = Lease(check_id, owner, attempt, at + duration)
    return Claimed(lease, entries(session, [check_id])[check_id], begun=begun)


def hold(session: Session, lease: Lease) -> None:
    """The fence before everything a check's owner writes: until the transaction ends nobody else takes the check.

    Raises LeaseLostError where somebody else took it, or it was ended.
    """
    held = select(EndpointCheck.id).where(*_held_by(lease)).with_for_update()
    if session.scalars(held).one_or_none() is None:
        raise _lease_lost(lease)


def extend(
    session: Session, lease: Lease, at: datetime, duration: timedelta = LEASE, *, done: int, planned: int
) -> Lease:
    """Say that the check is being worked on, and how far it is. Raises LeaseLostError as `hold` does."""
    until = None if lease.until is None else at + duration
    _change_held(session, lease, status=RunStatus.RUNNING, lease_until=until, done=done, planned=planned)
    return replace(lease, until=until)


def give_back(session: Session, lease: Lease, at: datetime, *, done: int, planned: int) -> None:
    """Let the next worker go on with a check; that was no attempt. Raises LeaseLostError as `hold` does.

    Only the owner's own claim is undone, so that a lease that was lost before can never be the current one again.
    """
    _change_held(
        session,
        lease,
        status=RunStatus.QUEUED,
        attempt=EndpointCheck.attempt - 1,
        lease_owner=None,
        lease_until=None,
        rung_at=at,
        done=done,
        planned=planned,
    )


def finish(
    session: Session,
    lease: Lease,
    *,
    status: RunStatus,
    at: datetime,
    verdict: Verdict | None = None,
    enrolled: bool = False,
    error_code: str | None = None,
    error: str | None = None,
) -> None:
    """End the check. Raises LeaseLostError as `hold` does: of two owners one ends it."""
    if not status.finished:
        raise UsageError(f"A check cannot end as {status.value}.", remedy="Give the status it ended with.")
    _change_held(
        session,
        lease,
        status=status,
        verdict=verdict,
        enrolled=enrolled,
        error_code=error_code,
        error=foreign_text(error, 2048),
        lease_until=None,
        finished_at=at,
    )


def _change_held(session: Session, lease: Lease, **values: Any) -> None:
    if session.execute(change(*_held_by(lease)).values(**values).returning(EndpointCheck.id)).one_or_none() is None:
        raise _lease_lost(lease)


def _held_by(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    return (
        EndpointCheck.id == lease.check_id,
        HELD,
        EndpointCheck.attempt == lease.attempt,
        EndpointCheck.lease_owner == lease.owner,
    )


def _lease_lost(lease: Lease) -> LeaseLostError:
    return LeaseLostError(
        f"Check {lease.check_id} is no longer attempt {lease.attempt} of {lease.owner}.",
        remedy="Nothing needs to be done: another worker goes on with it, or it was ended.",
    )


def cancel(session: Session, check_id: str, at: datetime) -> bool:
    """End a check that is open, whoever works on it; whether it was."""
    ended = end_open(session, [check_id], RunStatus.CANCELLED, None, None, at)
    tell_finished(session, ended, at)
    return bool(ended)


def retry(session: Session, check_id: str, at: datetime) -> CheckEntry:
    """A new check that does what one that did not succeed was to do; asked again it is the same one.

    Raises UsageError where there is no such check, it is still open, or it succeeded.
    """
    old = entry(session, check_id)
    if not old.status.finished or old.status is RunStatus.SUCCEEDED:
        raise UsageError(f"Check {check_id} is {old.status.value}.", remedy="Ask for a new check of its endpoint.")
    key = f"retry:{check_id}"
    request = CheckRequest(key, old.endpoint_id, Trigger.API, at, old.options, confirms=old.confirms)
    insert_new(session, EndpointCheck, [_row(request, at)])
    again = session.scalars(select(EndpointCheck.id).where(EndpointCheck.idempotency_key == key)).one()
    return entry(session, again)


class Queue:
    """The queue of one database. Every method is the function of its name in one transaction."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def enqueue(self, requests: Iterable[CheckRequest], at: datetime) -> list[CheckEntry]:
        with self._sessions.write() as session:
            return enqueue(session, requests, at)

    def enter_running(self, request: CheckRequest, owner: str, at: datetime) -> Claimed:
        with self._sessions.write() as session:
            return enter_running(session, request, owner, at)

    def broken_off(self, endpoint_id: str, options: Mapping[str, Any], since: datetime) -> CheckEntry | None:
        with self._sessions.read() as session:
            return broken_off(session, endpoint_id, options, since)

    def reopen(self, check_id: str, owner: str) -> tuple[Claimed, int]:
        with self._sessions.write() as session:
            return reopen(session, check_id, owner)

    def claim(self, check_id: str, owner: str, at: datetime, duration: timedelta = LEASE) -> Claimed | None:
        with self._sessions.write() as session:
            return claim(session, check_id, owner, at, duration)

    def hold(self, lease: Lease) -> None:
        with self._sessions.write() as session:
            hold(session, lease)

    def extend(self, lease: Lease, at: datetime, duration: timedelta = LEASE, *, done: int, planned: int) -> Lease:
        with self._sessions.write() as session:
            return extend(session, lease, at, duration, done=done, planned=planned)

    def give_back(self, lease: Lease, at: datetime, *, done: int, planned: int) -> None:
        with self._sessions.write() as session:
            give_back(session, lease, at, done=done, planned=planned)

    def finish(
        self,
        lease: Lease,
        *,
        status: RunStatus,
        at: datetime,
        verdict: Verdict | None = None,
        enrolled: bool = False,
        error_code: str | None = None,
        error: str | None = None,
    ) -> None:
        with self._sessions.write() as session:
            finish(
                session,
                lease,
                status=status,
                at=at,
                verdict=verdict,
                enrolled=enrolled,
                error_code=error_code,
                error=error,
            )

    def cancel(self, check_id: str, at: datetime, actor: str | None = None) -> bool:
        """An `actor` is noted in the audit log."""
        with self._sessions.write() as session:
            cancelled = cancel(session, check_id, at)
            if cancelled and actor is not None:
                audit(session, actor, "check.cancel", check_id, {}, at)
            return cancelled

    def retry(self, check_id: str, at: datetime) -> CheckEntry:
        with self._sessions.write() as session:
            return retry(session, check_id, at)

    def sweep(self, at: datetime, ring_again_after: timedelta = RING_AGAIN_AFTER) -> Swept:
        with self._sessions.write() as session:
            return sweep(session, at, ring_again_after)

    def rung(self, check_ids: Collection[str], at: datetime) -> None:
        with self._sessions.write() as session:
            rung(session, check_ids, at)

    def entry(self, check_id: str) -> CheckEntry:
        with self._sessions.read() as session:
            return entry(session, check_id)

    def last_slots(self, schedule: str, endpoint_ids: Sequence[str], at: datetime) -> dict[str, datetime]:
        with self._sessions.read() as session:
            return last_slots(session, schedule, endpoint_ids, at)

    def backlog(self) -> Backlog:
        with self._sessions.read() as session:
            return backlog(session)
