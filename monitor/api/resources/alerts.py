"""Alerts: what was found, what became of it, and what people decide about it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from monitor import clock
from monitor.alerts.rule import Watch
from monitor.api.labels import LABELLED, Labels
from monitor.api.needs import READS, REPEATABLE, WRITES_ALERTS, Sender, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.preconditions import MaybeVersion, etag
from monitor.api.shapes import SLUG, AlertId, EndpointFilter, Given, ModelFilter, ProviderFilter, Shape, Since, Text
from monitor.api.state import ApiState
from monitor.store.alert_records import AlertFilter, AlertRecord
from monitor.store.vocabulary import AlertState, Severity
from monitor.worker.names import FAN_OUT

router = APIRouter(prefix="/alerts", tags=["alerts"])

AlertPages = Annotated[PageRequest, sorted_by("-opened_at", "updated_at", "severity")]

_DECISION = problems(404, 409, 412, 413)


class AlertDocument(Shape):
    """`finding` is what the last evidence said: value, baseline, interval, causes, runs; no prompt and no answer."""

    id: str
    fingerprint: str
    rule: str
    watches: Watch
    endpoint_id: str | None
    metric: str
    labels: dict[str, str]
    severity: Severity
    state: AlertState
    flapping: bool
    acked_at: datetime | None
    acked_by: str | None
    note: str | None
    finding: dict[str, Any]
    opened_at: datetime
    fired_at: datetime | None
    resolved_at: datetime | None
    updated_at: datetime
    row_version: int = Field(description="the alert's ETag")


class AlertEventDocument(Shape):
    alert_id: str
    seq: int
    kind: str
    from_state: AlertState | None
    to_state: AlertState
    reason: str
    actor: str
    at: datetime
    notice: bool = Field(description="whether people were to hear of it")
    fanned_out_at: datetime | None


class Note(Given):
    note: Text | None = None


class Comment(Given):
    text: Text


@router.get("", dependencies=[READS], responses=problems(), openapi_extra=LABELLED)
def list_alerts(
    state: State,
    paged: AlertPages,
    labels: Labels,
    is_open: Annotated[bool | None, Query(alias="open", description="true: not resolved")] = None,
    alert_state: Annotated[AlertState | None, Query(alias="state")] = None,
    severity: Annotated[Severity | None, Query()] = None,
    rule: Annotated[str | None, Query(pattern=SLUG)] = None,
    endpoint: EndpointFilter = None,
    provider: ProviderFilter = None,
    model: ModelFilter = None,
    since: Since = None,
) -> PageOf[AlertDocument]:
    """Those opened last first; `from` is about their last change."""
    which = AlertFilter(is_open, alert_state, severity, rule, endpoint, provider, model, since, labels)
    return paged.answer(state.alerts.list(paged.window(), which))


@router.get("/{alert_id}", dependencies=[READS], responses=problems(404))
def show_alert(state: State, response: Response, alert_id: AlertId) -> AlertDocument:
    return _answered(response, state.alerts.show(alert_id))


@router.get("/{alert_id}/events", dependencies=[READS], responses=problems(404))
def list_alert_events(state: State, alert_id: AlertId) -> list[AlertEventDocument]:
    """Everything that happened to it, the first step first."""
    return [AlertEventDocument.model_validate(event) for event in state.alerts.events(alert_id)]


@router.post("/{alert_id}/ack", dependencies=[WRITES_ALERTS, REPEATABLE], responses=_DECISION)
def acknowledge_alert(
    state: State,
    sender: Sender,
    response: Response,
    alert_id: AlertId,
    expected: MaybeVersion,
    given: Note | None = None,
) -> AlertDocument:
    """Somebody looks after it: no more repeats until it gets worse."""
    note = "" if given is None or given.note is None else given.note
    record = state.alerts.ack(alert_id, actor=sender.name, at=clock.now(), note=note, expected=expected)
    return _decided(state, response, record)


@router.post("/{alert_id}/unack", dependencies=[WRITES_ALERTS, REPEATABLE], responses=_DECISION)
def unacknowledge_alert(
    state: State, sender: Sender, response: Response, alert_id: AlertId, expected: MaybeVersion
) -> AlertDocument:
    record = state.alerts.unack(alert_id, actor=sender.name, at=clock.now(), expected=expected)
    return _decided(state, response, record)


@router.post("/{alert_id}/resolve", dependencies=[WRITES_ALERTS, REPEATABLE], responses=_DECISION)
def resolve_alert(
    state: State,
    sender: Sender,
    response: Response,
    alert_id: AlertId,
    expected: MaybeVersion,
    given: Note | None = None,
) -> AlertDocument:
    """Over, by a person's word; the next proven drift is a new alert."""
    note = "" if given is None or given.note is None else given.note
    record = state.alerts.resolve(alert_id, actor=sender.name, at=clock.now(), note=note, expected=expected)
    return _decided(state, response, record)


@router.post("/{alert_id}/comment", dependencies=[WRITES_ALERTS, REPEATABLE], responses=_DECISION)
def comment_alert(
    state: State, sender: Sender, response: Response, alert_id: AlertId, expected: MaybeVersion, given: Comment
) -> AlertDocument:
    record = state.alerts.comment(alert_id, actor=sender.name, text=given.text, at=clock.now(), expected=expected)
    return _decided(state, response, record)


def _decided(state: ApiState, response: Response, record: AlertRecord) -> AlertDocument:
    state.bell.ring(FAN_OUT)
    return _answered(response, record)


def _answered(response: Response, record: AlertRecord) -> AlertDocument:
    response.headers["ETag"] = etag(record.row_version)
    return AlertDocument.model_validate(record)
