"""How the service stands, in numbers: what /metrics, `monitor status` and `monitor doctor` tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, ScalarSelect, func, select, text
from sqlalchemy.orm import QueryableAttribute, Session

from monitor.drift.rule import Verdict
from monitor.store.queue_reading import backlog
from monitor.store.session import Sessions
from monitor.store.tables import (
    Alert,
    ChannelHealth,
    Delivery,
    Endpoint,
    EndpointCheck,
    Evidence,
    Model,
    Provider,
    Spending,
    StandingEvidence,
    WorkerBeat,
)
from monitor.store.vocabulary import AlertState, DeliveryStatus, RunStatus, Severity

T = TypeVar("T")

_JUDGED = (RunStatus.SUCCEEDED, RunStatus.PARTIAL)


@dataclass(frozen=True, slots=True)
class CheckFigure:
    """What was found last of one metric of an endpoint."""

    provider: str
    model: str
    metric: str
    verdict: Verdict
    value: float | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in one queue; `oldest` is since when it could have been done."""

    count: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Figures:
    """`judged_at` is by provider and model; `cost_microusd` by provider, of all days together. `progress_at` is when
    any worker last finished some work."""

    checks: tuple[CheckFigure, ...]
    judged_at: Mapping[tuple[str, str], datetime]
    alerts: Mapping[tuple[AlertState, Severity], int]
    queues: Mapping[str, Waiting]
    progress_at: datetime | None
    deliveries_pending: int
    cost_microusd: Mapping[str, int]
    database_bytes: int


def figures(session: Session, at: datetime) -> Figures:
    return Figures(
        checks=tuple(_checks(session)),
        judged_at=_judged_at(session),
        alerts=_alerts(session),
        queues=queues(session, at),
        progress_at=session.scalar(select(func.max(WorkerBeat.progress_at))),
        deliveries_pending=session.scalar(select(func.count()).where(_open_delivery())) or 0,
        cost_microusd=_cost(session),
        database_bytes=database_bytes(session),
    )


def queues(session: Session, at: datetime) -> dict[str, Waiting]:
    """Checks that nobody has taken, and deliveries that could be sent now."""
    checks = backlog(session)
    count, oldest = session.execute(
        select(func.count(), func.min(Delivery.next_attempt_at))
        .outerjoin(ChannelHealth, ChannelHealth.channel == Delivery.channel)
        .where(Delivery.status == DeliveryStatus.PENDING, Delivery.next_attempt_at <= at)
        .where(ChannelHealth.disabled_at.is_(None))
    ).one()
    return {"probe": Waiting(checks.count, checks.oldest), "notify": Waiting(count, oldest)}


def database_bytes(session: Session) -> int:
    """What the database takes on the disk, as far as it knows."""
    if session.get_bind().dialect.name == "postgresql":
        return int(session.scalar(text("SELECT pg_database_size(current_database())")) or 0)
    pages = session.scalar(text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
    return int(pages or 0)


def _checks(session: Session) -> list[CheckFigure]:
    # Evidence is kept for good, and never scanned.
    rows = session.execute(
        select(Provider.slug, Model.slug, Evidence.metric, Evidence.verdict, Evidence.value)
        .select_from(Endpoint)
        .join(Provider, Provider.id == Endpoint.provider_id)
        .join(Model, Model.id == Endpoint.model_id)
        .join(StandingEvidence, StandingEvidence.endpoint_id == Endpoint.id)
        .join(Evidence, Evidence.id == StandingEvidence.latest_id)
        .order_by(Endpoint.created_at, Evidence.id)
    )
    # Of a model's endpoints (its name or routing may have changed) the newest one counts.
    found = {tuple(row[:3]): CheckFigure(*row) for row in rows}
    return list(found.values())


def _judged_at(session: Session) -> dict[tuple[str, str], datetime]:
    finished = _last_judged(EndpointCheck.finished_at)
    rows = session.execute(
        select(Provider.slug, Model.slug, finished)
        .select_from(Endpoint)
        .join(Provider, Provider.id == Endpoint.provider_id)
        .join(Model, Model.id == Endpoint.model_id)
        .order_by(Endpoint.created_at)
    )
    return {(provider, model): at for provider, model, at in rows if at is not None}


def _last_judged(column: QueryableAttribute[T]) -> ScalarSelect[T]:
    return (
        select(column)
        .where(EndpointCheck.endpoint_id == Endpoint.id, EndpointCheck.status.in_(_JUDGED))
        .order_by(EndpointCheck.queued_at.desc(), EndpointCheck.id.desc())
        .limit(1)
        .correlate(Endpoint)
        .scalar_subquery()
    )


def _alerts(session: Session) -> dict[tuple[AlertState, Severity], int]:
    rows = session.execute(
        select(Alert.state, Alert.severity, func.count())
        .where(Alert.state != AlertState.RESOLVED)
        .group_by(Alert.state, Alert.severity)
    )
    return {(state, severity): count for state, severity, count in rows}


def _open_delivery() -> ColumnElement[bool]:
    return Delivery.status.in_((DeliveryStatus.PENDING, DeliveryStatus.LEASED))


def _cost(session: Session) -> dict[str, int]:
    rows = session.execute(select(Spending.provider, func.sum(Spending.settled_microusd)).group_by(Spending.provider))
    return {provider: int(total) for provider, total in rows}


class Standing:
    """The numbers of one database, each method a view of one moment."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def figures(self, at: datetime) -> Figures:
        with self._sessions.read() as session:
            return figures(session, at)

    def queues(self, at: datetime) -> dict[str, Waiting]:
        with self._sessions.read() as session:
            return queues(session, at)
