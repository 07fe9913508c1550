"""What people decide about alerts: forms that change something and lead back to the alert."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from dashboards.views.alerts import DURATIONS, scopes
from dashboards.visit import PRIVATE, Visit
from monitor.errors import RequestError
from monitor.worker.names import FAN_OUT

_MOST_TEXT = 2000


def ack(visit: Visit) -> Response:
    visit.state.alerts.ack(
        _alert_id(visit), actor=visit.actor.name, at=visit.now, note=_text(visit), expected=_seen(visit)
    )
    return _decided(visit)


def unack(visit: Visit) -> Response:
    visit.state.alerts.unack(_alert_id(visit), actor=visit.actor.name, at=visit.now, expected=_seen(visit))
    return _decided(visit)


def resolve(visit: Visit) -> Response:
    visit.state.alerts.resolve(
        _alert_id(visit), actor=visit.actor.name, at=visit.now, note=_text(visit), expected=_seen(visit)
    )
    return _decided(visit)


def comment(visit: Visit) -> Response:
    text = _text(visit)
    if not text:
        raise RequestError("The comment is empty.", remedy="Go back and write something.")
    visit.state.alerts.comment(_alert_id(visit), actor=visit.actor.name, text=text, at=visit.now)
    return _decided(visit)


def silence(visit: Visit) -> Response:
    alert = visit.state.alerts.show(_alert_id(visit))
    scope, duration = scopes(alert).get(visit.form.get("scope", "")), DURATIONS.get(visit.form.get("duration", ""))
    text = _text(visit)
    if scope is None or duration is None or not text:
        raise RequestError(
            "A silence needs what it covers, how long, and why.", remedy="Go back and fill in all three."
        )
    visit.state.alerts.add_silence(
        scope[1],
        starts_at=visit.now,
        ends_at=visit.now + duration[1],
        author=visit.actor.name,
        comment=text,
        at=visit.now,
    )
    return _decided(visit)


def end_silence(visit: Visit) -> Response:
    visit.state.alerts.expire_silence(visit.path("silence_id"), actor=visit.actor.name, at=visit.now)
    return _decided(visit)


def _alert_id(visit: Visit) -> str:
    return visit.path("alert_id")


def _text(visit: Visit) -> str:
    return visit.form.get("text", "").strip()[:_MOST_TEXT]


def _seen(visit: Visit) -> int | None:
    """The version of the alert that the form was made for."""
    text = visit.form.get("version", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _decided(visit: Visit) -> Response:
    visit.state.bell.ring(FAN_OUT)
    return RedirectResponse(f"/alerts/{_alert_id(visit)}", 303, PRIVATE)
