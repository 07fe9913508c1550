"""What is wrong on our side, as the database knows it: references that cannot be used, and controls that moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import exists, or_, select
from sqlalchemy.orm import Session

from monitor.alerts.core import AlertCore
from monitor.alerts.inhibit import Conditions, MovedControl
from monitor.alerts.rule import Watch
from monitor.config import EndpointConfig
from monitor.store.alert_records import alert_record
from monitor.store.pages import pages
from monitor.store.tables import Alert, EndpointCheck, Run
from monitor.store.vocabulary import AlertState, RunStatus, Trigger
from probes.plan import ProbeKind
from reference_engine.errors import EngineError, EngineRequestError, ModelFileError, ModelNotFoundError

_REFERENCE_ERRORS = tuple(error.code for error in (EngineError, ModelFileError, ModelNotFoundError, EngineRequestError))
# What a check met longer ago says nothing of a reference now.
_TELLING = timedelta(days=1)
_DONE = (RunStatus.SUCCEEDED, RunStatus.PARTIAL)


def conditions(
    session: Session, endpoints: Mapping[str, EndpointConfig], at: datetime, *, offline: bool = False
) -> Conditions:
    """`endpoints` are those of the configuration by their ids; `offline` is what the canary found."""
    compared: dict[str, list[str]] = {}
    for endpoint_id, endpoint in endpoints.items():
        if endpoint.reference is not None:
            compared.setdefault(endpoint.model, []).append(endpoint_id)
    unhealthy = frozenset(model for model, ids in compared.items() if _reference_fails(session, ids, at))
    controls = {endpoint_id: endpoint.model for endpoint_id, endpoint in endpoints.items() if endpoint.control}
    return Conditions(offline, unhealthy, tuple(_moved(session, controls)))


def _reference_fails(session: Session, endpoint_ids: Sequence[str], at: datetime) -> bool:
    """Whether the last check of these that needed the reference could not use it.

    Those of `monitor probe` do not count: it may run on a machine without the weights.
    """
    judged = exists().where(Run.check_id == EndpointCheck.id, Run.probe != ProbeKind.LATENCY, Run.status.in_(_DONE))
    last: list[tuple[datetime, str | None]] = []
    for some in pages(endpoint_ids):
        found = session.execute(
            select(EndpointCheck.finished_at, EndpointCheck.error_code)
            .where(
                EndpointCheck.endpoint_id.in_(some),
                EndpointCheck.queued_at > at - _TELLING,
                EndpointCheck.finished_at.is_not(None),
                EndpointCheck.trigger.not_in((Trigger.CLI, Trigger.CI)),
                or_(EndpointCheck.error_code.in_(_REFERENCE_ERRORS), judged),
            )
            .order_by(EndpointCheck.finished_at.desc())
            .limit(1)
        )
        last += [(row.finished_at, row.error_code) for row in found]
    return bool(last) and max(last)[1] in _REFERENCE_ERRORS


def _moved(session: Session, controls: Mapping[str, str]) -> list[MovedControl]:
    """The controls, by their ids with their models, in which a drift was found that is not over."""
    found = []
    for some in pages(sorted(controls)):
        rows = session.scalars(
            select(Alert).where(Alert.endpoint_id.in_(some), Alert.state != AlertState.RESOLVED).order_by(Alert.id)
        )
        for row in rows:
            core, subject = AlertCore.from_json(row.core), alert_record(row).subject
            if row.endpoint_id and core.watches is Watch.DRIFT and (core.fired or core.suspected_by is not None):
                moved = MovedControl(row.endpoint_id, controls[row.endpoint_id], subject.since, row.opened_at)
                found.append(moved)
    return found
