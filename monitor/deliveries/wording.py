"""Alerts and events in words: one line each, for people who read them on a phone at night."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.notice import Notice, NoticeType

# The label that marks an alert as one of a fire drill, where it is "true".
DRILL = "drill"

_EVENT_TITLES = {
    NoticeType.RUN_FINISHED: "A check has finished",
    NoticeType.FINGERPRINT_CHANGED: "The provider serves another build",
    NoticeType.STACK_CHANGED: "The serving stack writes in another way",
    NoticeType.BUDGET_EXHAUSTED: "The day's budget is spent",
    NoticeType.DEGRADED: "The monitor itself is degraded",
    NoticeType.TEST: "A test message; nothing has happened",
}


def subject(alert: AlertFacts) -> str:
    """What the alert is about: `acme/qwen3-32b`, or the rule where it is about the service."""
    names = [alert.labels[name] for name in ("provider", "model") if alert.labels.get(name)]
    return "/".join(names) or alert.rule


def summary(alert: AlertFacts) -> str:
    """`acme/qwen3-32b: logprobs 0.003 → 0.658 nat, looks like w4-g64`."""
    found = alert.finding
    parts = [f"{alert.metric or alert.rule} {_movement(alert)}".strip()]
    if found.error:
        parts.append(found.error)
    if found.causes:
        parts.append(f"looks like {found.causes[0][0]}")
    return f"{_drill([alert])}{subject(alert)}: {', '.join(parts)}"


def _drill(alerts: Sequence[AlertFacts]) -> str:
    """Nobody is to take a drill for a real alert."""
    return "DRILL " if all(alert.labels.get(DRILL) == "true" for alert in alerts) else ""


def _movement(alert: AlertFacts) -> str:
    found = alert.finding
    if found.value is None:
        return "" if alert.rule == alert.metric else f"({alert.rule})"
    unit = f" {found.unit}" if found.unit else ""
    before = "" if found.baseline is None else f"{found.baseline:.4g} → "
    return f"{before}{found.value:.4g}{unit}"


def title(notice: Notice) -> str:
    """`[FIRING:2] provider=acme`, as those who know Alertmanager expect it."""
    if not notice.alerts:
        return _EVENT_TITLES.get(notice.type, notice.type.value)
    word = {NoticeType.ACKNOWLEDGED: "ACKNOWLEDGED", NoticeType.FLAPPING: "FLAPPING"}.get(
        notice.type, notice.status.upper()
    )
    about = ", ".join(value for value in notice.group_labels.values() if value)
    firing = sum(not alert.resolved for alert in notice.alerts)
    count = f":{firing}" if word == "FIRING" else ""
    return f"[{_drill(notice.alerts)}{word}{count}] {about or subject(notice.alerts[0])}"


def line(alert: AlertFacts) -> str:
    """One alert in a list: its state, its severity and what was found."""
    state = "resolved" if alert.resolved else alert.severity.value
    return f"{state}: {summary(alert)}"


def event_lines(notice: Notice) -> list[str]:
    """What an event says of itself, one `name: value` a line."""
    return [f"{name}: {value}" for name, value in (*notice.labels.items(), *notice.data.items())]


def stamp(at: datetime | None) -> str | None:
    """A time as RFC 3339 writes it, in UTC."""
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def alert_page(notice: Notice, alert: AlertFacts) -> str:
    """Where the alert is shown; a path alone where the service does not know its own address."""
    return f"{notice.external_url.rstrip('/')}/alerts/{alert.id}"
