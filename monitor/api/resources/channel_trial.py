"""Sends a test message to a channel, the way of every other message."""

from __future__ import annotations

from fastapi import APIRouter, Response

from monitor import clock
from monitor.api.needs import REPEATABLE, WRITES_ALERTS, Sender, State, problems
from monitor.api.resources.deliveries import DeliveryDocument
from monitor.api.resources.endpoints import effective
from monitor.api.shapes import Slug
from monitor.api.state import ApiState
from monitor.config.service import Channel
from monitor.deliveries.destination import format_of
from monitor.deliveries.formats import render
from monitor.deliveries.trial import trial_notice
from monitor.errors import NotFoundError
from monitor.worker.names import DELIVER

router = APIRouter(prefix="/channels", tags=["channels"])


@router.post("/{slug}/test", status_code=202, dependencies=[WRITES_ALERTS, REPEATABLE], responses=problems(404))
def test_channel(state: State, sender: Sender, response: Response, slug: Slug) -> DeliveryDocument:
    """Queue a `webhook.test`, signed and retried like any message. `Location` is the delivery, which says how it ended;
    its `attempts` say what was answered. A channel that was switched off is on again."""
    channel, at = _channel(state, slug), clock.now()
    notice = trial_notice(channel, at, state.external_url)
    entry = state.deliveries.try_channel(notice, render(notice, format_of(channel)), at, sender.name)
    state.bell.ring(DELIVER, entry.id)
    response.headers["Location"] = f"/api/v1/deliveries/{entry.id}"
    return DeliveryDocument.model_validate(entry)


def _channel(state: ApiState, slug: str) -> Channel:
    config = effective(state)
    found = () if config is None else config.file.channels
    for channel in found:
        if channel.id == slug:
            return channel
    raise NotFoundError(f"There is no channel '{slug}'.", remedy="GET /api/v1/channels lists them.")
