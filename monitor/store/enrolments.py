"""What an endpoint's log-probabilities and its border inputs were at enrolment, kept with its streams, and the answers
that these are made of."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from monitor.drift.border_scores import BorderInputs
from monitor.drift.fingerprint import LEAST_ANSWERS, Enrolment
from monitor.drift.listing import Listing
from monitor.drift.material import without_cached
from monitor.drift.observation import Observation as Answer
from monitor.drift.whitened_scores import WhitenedEnrolment
from monitor.store.codec import decode
from monitor.store.tables import EndpointEpoch, Observation, Run
from monitor.store.tables import Enrolment as EnrolmentRow
from monitor.store.vocabulary import EpochEnd, RunStatus, StreamTier, Trigger
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
    """The runs of an endpoint that asked prompts of this version and began in this time, both ends included."""

    endpoint_id: str
    suite_version: str
    since: datetime
    until: datetime


def current(session: Session, endpoint_id: str) -> Kept | None:
    """The open one of log-probabilities."""
    row = _open(session, endpoint_id, StreamTier.LOGPROBS)
    if row is None:
        return None
    try:
        return Kept(row.suite_version, WhitenedEnrolment.from_json(row.body), row.made_at)
    except ValueError:
        return Kept(row.suite_version, None, row.made_at)


def current_border(session: Session, endpoint_id: str) -> BorderInputs | None:
    """The open ones; None too where another release wrote them: they are found anew."""
    row = _open(session, endpoint_id, StreamTier.BORDER)
    if row is None:
        return None
    try:
        return BorderInputs.from_json(row.body)
    except ValueError:
        return None


def open_id(session: Session, endpoint_id: str) -> int | None:
    """Of log-probabilities."""
    row = _open(session, endpoint_id, StreamTier.LOGPROBS)
    return None if row is None else row.id


def _open(session: Session, endpoint_id: str, tier: StreamTier) -> EnrolmentRow | None:
    open_one = EnrolmentRow.closed_at.is_(None)
    return session.scalars(
        select(EnrolmentRow).where(EnrolmentRow.endpoint_id == endpoint_id, EnrolmentRow.tier == tier, open_one)
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
    _replace(session, run, StreamTier.LOGPROBS, (kept.suite_version, kept.whitened.to_json(), kept.made_at), at)


def keep_border(session: Session, run: Run, inputs: BorderInputs, at: datetime) -> None:
    """In place of those that were open."""
    _replace(session, run, StreamTier.BORDER, (run.suite_version, inputs.to_json(), at), at)


def _replace(session: Session, run: Run, tier: StreamTier, made: tuple[str, str, datetime], at: datetime) -> None:
    _close(session, at, EnrolmentRow.endpoint_id == run.endpoint_id, EnrolmentRow.tier == tier)
    suite_version, body, made_at = made
    session.add(
        EnrolmentRow(
            endpoint_id=run.endpoint_id,
            tier=tier,
            run_id=run.id,
            suite_version=suite_version,
            body=body,
            made_at=made_at,
        )
    )
    session.flush()


def close(session: Session, endpoint_id: str, at: datetime) -> None:
    """The next ones are made of answers from now on, as where a person accepted what the endpoint is."""
    _close(session, at, EnrolmentRow.endpoint_id == endpoint_id)


def _close(session: Session, at: datetime, *which: ColumnElement[bool]) -> None:
    session.execute(update(EnrolmentRow).where(EnrolmentRow.closed_at.is_(None), *which).values(closed_at=at))
    session.flush()


def closed_at(
    session: Session, endpoint_id: str, before: datetime | None = None, tier: StreamTier = StreamTier.LOGPROBS
) -> datetime | None:
    """When the last one was closed, or a person accepted what the endpoint had become: no answer from before may be
    part of the next one. before: of those that were closed by then, and not by the one that was made then."""
    closed = select(func.max(EnrolmentRow.closed_at)).where(
        EnrolmentRow.endpoint_id == endpoint_id, EnrolmentRow.tier == tier
    )
    accepted = select(func.max(EndpointEpoch.closed_at)).where(
        EndpointEpoch.endpoint_id == endpoint_id, EndpointEpoch.why == EpochEnd.ACCEPTED
    )
    if before is not None:
        closed, accepted = (
            closed.where(EnrolmentRow.closed_at < before),
            accepted.where(EndpointEpoch.closed_at < before),
        )
    ends = (session.scalars(closed).one(), session.scalars(accepted).one())
    return max((end for end in ends if end is not None), default=None)


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


def first_tokens_in(session: Session, window: Window) -> list[Answer]:
    """What came to border inputs, in the order in which the runs were made."""
    blobs = session.scalars(
        select(Observation.blob)
        .join(Run, Run.id == Observation.run_id)
        .where(*_within(window, ProbeKind.BORDER))
        .order_by(Run.started_at, Run.id, Observation.id)
    )
    return [decode(blob) for blob in blobs]


def _within(window: Window, probe: ProbeKind = ProbeKind.LOGPROBS) -> tuple[ColumnElement[bool], ...]:
    return (
        Run.endpoint_id == window.endpoint_id,
        Run.probe == probe,
        Run.suite_version == window.suite_version,
        Run.status.in_(_USABLE),
        Run.trigger != Trigger.CONFIRM,
        Run.started_at >= window.since,
        Run.started_at <= window.until,
    )
