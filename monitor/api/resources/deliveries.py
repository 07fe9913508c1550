"""Deliveries: every message to a channel, each try, and sending it again."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from monitor import clock
from monitor.api.needs import READS, REPEATABLE, WRITES_ALERTS, Sender, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.shapes import SLUG, DeliveryId, Shape
from monitor.api.state import ApiState
from monitor.errors import ConflictError, NotFoundError, UsageError
from monitor.store.delivery_records import DeliveryEntry
from monitor.store.vocabulary import DeliveryStatus
from monitor.worker.names import DELIVER

router = APIRouter(tags=["deliveries"])

DeliveryPages = Annotated[PageRequest, sorted_by("-created_at", "channel")]


class DeliveryDocument(Shape):
    """One message; its id is the receiver's `webhook-id`, the same on every try."""

    id: str
    channel: str
    type: str
    group_key: str
    seq: int
    alert_ids: list[str]
    status: DeliveryStatus
    attempts: int
    next_attempt_at: datetime
    error: str | None
    created_at: datetime
    finished_at: datetime | None


class AttemptDocument(Shape):
    at: datetime
    http_status: int | None
    error: str | None
    milliseconds: float
    response: str | None = Field(description="the first 2 kB of the answer, redacted")


class ChannelHealthDocument(Shape):
    channel: str
    failures: int = Field(description="failed tries in a row")
    throttled_until: datetime | None
    disabled_at: datetime | None
    reason: str | None
    ok_at: datetime | None


@router.get("/deliveries", dependencies=[READS], responses=problems())
def list_deliveries(
    state: State,
    paged: DeliveryPages,
    channel: Annotated[str | None, Query(pattern=SLUG)] = None,
    status: Annotated[DeliveryStatus | None, Query()] = None,
) -> PageOf[DeliveryDocument]:
    """The newest first."""
    return paged.answer(state.deliveries.page(paged.window(), channel=channel, status=status))


@router.get("/deliveries/{delivery_id}", dependencies=[READS], responses=problems(404))
def show_delivery(state: State, delivery_id: DeliveryId) -> DeliveryDocument:
    return DeliveryDocument.model_validate(_existing(state, delivery_id))


@router.get("/deliveries/{delivery_id}/attempts", dependencies=[READS], responses=problems(404))
def list_attempts(state: State, delivery_id: DeliveryId) -> list[AttemptDocument]:
    """Every try, the first one first."""
    _existing(state, delivery_id)
    return [AttemptDocument.model_validate(attempt) for attempt in state.deliveries.attempts(delivery_id)]


@router.post(
    "/deliveries/{delivery_id}/redeliver",
    status_code=202,
    dependencies=[WRITES_ALERTS, REPEATABLE],
    responses=problems(404, 409),
)
def redeliver(state: State, sender: Sender, delivery_id: DeliveryId) -> DeliveryDocument:
    """Send it again, under the same id, from the first try on. 409 while it is being sent."""
    _existing(state, delivery_id)
    if not state.deliveries.redeliver([delivery_id], clock.now(), sender.name):
        raise ConflictError(f"Delivery {delivery_id} is being sent at this moment.")
    state.bell.ring(DELIVER, delivery_id)
    return DeliveryDocument.model_validate(_existing(state, delivery_id))


@router.get("/channel-health", dependencies=[READS], responses=problems())
def list_channel_health(state: State) -> list[ChannelHealthDocument]:
    """How each channel fares that was ever sent to."""
    return [ChannelHealthDocument.model_validate(found) for found in state.deliveries.channels()]


def _existing(state: ApiState, delivery_id: str) -> DeliveryEntry:
    try:
        return state.deliveries.entry(delivery_id)
    except UsageError as error:
        raise NotFoundError(error.message, remedy="GET /api/v1/deliveries lists them.") from error
