"""What an endpoint's log-probabilities were at enrolment, kept with its streams, and the answers that it is made of."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from monitor.drift.fingerprint import LEAST_ANSWERS, Enrolment
from monitor.drift.listing import Listing
from monitor.drift.material import without_cached
from monitor.drift.whitened_scores import WhitenedEnrolment
from monitor.store.codec import decode
from monitor.store.tables import Enrolment as EnrolmentRow
from monitor.store.tables import Observation, Run
from monitor.store.vocabulary import RunStatus, Trigger
from probes.plan import ProbeKind

_USABLE = (RunStatus.SUCCEEDED, RunStatus.PARTIAL)


class Asked(NamedTuple):
    """The anchors' answers of one run; `at` is when it began, in seconds since 1970."""

    run_id: str
    at: float
    listings: tuple[Listing, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """An endpoint's enrolment, made at `made_at`. `whitened` is None where another release wrote it: it is to be made
    anew."""

    suite_version: str
    whitened: WhitenedEnrolment | None
    made_at: datetime


class Window(NamedTuple):
    """The runs of an endpoint that asked anchors of this version and began in this time, both ends included."""

    endpoint_id: str
    suite_version: str
    since: datetime
    until: datetime


def current(session: Session, endpoint_id: str) -> Kept | None:
    """The open one."""
    row = session.scalars(
        select(EnrolmentRow).where(EnrolmentRow.endpoint_id == endpoint_id, EnrolmentRow.closed_at.is_(None))
    ).one_or_none()
    if row is None:
        return None
    try:
        return Kept(row.suite_version, WhitenedEnrolment.from_json(row.body), row.made_at)
    except ValueError:
        return Kept(row.suite_version, None, row.made_at)


def open_id(session: Session, endpoint_id: str) -> int | None:
    return session.scalars(
        select(EnrolmentRow.id).where(EnrolmentRow.endpoint_id == endpoint_id, EnrolmentRow.closed_at.is_(None))
    ).one_or_none()


def read(session: Session, enrolment_id: int) -> Enrolment | None:
    """Any one that ever was, also of a release that kept no noise beside it; None where it cannot be read."""
    body = session.scalars(select(EnrolmentRow.body).where(EnrolmentRow.id == enrolment_id)).one()
    with suppress(ValueError):
        return WhitenedEnrolment.from_json(body).enrolment
    with suppress(ValueError):
        return Enrolment.from_json(body)
    return None


def keep(session: Session, run: Run, kept: Kept, at: datetime) -> None:
    """In place of the one that was open. Raises ValueError for one that has no enrolment."""
    if kept.whitened is None:
        raise ValueError("an enrolment that cannot be read is not kept: make it anew")
    close(session, run.endpoint_id, at)
    session.add(
        EnrolmentRow(
            endpoint_id=run.endpoint_id,
            run_id=run.id,
            suite_version=kept.suite_version,
            body=kept.whitened.to_json(),
            made_at=kept.made_at,
        )
    )
    session.flush()


def close(session: Session, endpoint_id: str, at: datetime) -> None:
    """The next one is made of answers from now on, as where a person accepted what the endpoint is."""
    open_one = EnrolmentRow.endpoint_id == endpoint_id, EnrolmentRow.closed_at.is_(None)
    session.execute(update(EnrolmentRow).where(*open_one).values(closed_at=at))
    session.flush()


def closed_at(session: Session, endpoint_id: str, before: datetime | None = None) -> datetime | None:
    """When the last one was closed: no answer from before may be part of the next one. before: of those that were
    closed by then, and not by the one that was made then."""
    closed = select(func.max(EnrolmentRow.closed_at)).where(EnrolmentRow.endpoint_id == endpoint_id)
    return session.scalars(closed if before is None else closed.where(EnrolmentRow.closed_at < before)).one()


def often_asked(session: Session, window: Window) -> set[str]:
    """The anchors with so many answers that they can be enrolled."""
    counted = (
        select(Observation.item_key)
        .join(Run, Run.id == Observation.run_id)
        .where(*_within(window))
        .group_by(Observation.item_key)
        .having(func.count() >= LEAST_ANSWERS)
    )
    return {*session.scalars(counted)}


def asked_in(session: Session, window: Window, prompts: Collection[str]) -> Iterator[Asked]:
    """What was answered to these anchors, run by run, in the order in which the runs began; of an answer that a cache
    gave again only the first."""
    rows = session.execute(
        select(Run.id, Run.started_at, Observation.blob)
        .join(Observation, Observation.run_id == Run.id)
        .where(*_within(window), Observation.item_key.in_(prompts))
        .order_by(Run.started_at, Run.id, Observation.id)
    )
    for (run_id, started_at), answers in groupby(rows, key=lambda row: (row[0], row[1])):
        at = started_at.timestamp()
        seen = without_cached([decode(blob) for _, _, blob in answers])
        yield Asked(run_id, at, tuple(Listing.of(one, at) for one in seen))


def _within(window: Window) -> tuple[ColumnElement[bool], ...]:
    return (
        Run.endpoint_id == window.endpoint_id,
        Run.probe == ProbeKind.LOGPROBS,
        Run.suite_version == window.suite_version,
        Run.status.in_(_USABLE),
        Run.trigger != Trigger.CONFIRM,
        Run.started_at >= window.since,
        Run.started_at <= window.until,
    )
