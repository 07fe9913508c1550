"""Alerts, silences and rule tests as tables and as JSON documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from monitor.alerts.holds import Holds
from monitor.redaction import safe_text
from monitor.render.wording import with_unit
from monitor.store.alerts import AlertEventRecord, AlertRecord, SilenceRecord
from monitor.store.delivery_records import Told
from monitor.store.vocabulary import AlertState, DeliveryStatus, Severity

LIST_SCHEMA = "monitor.alerts/1"
ALERT_SCHEMA = "monitor.alert/1"
SILENCES_SCHEMA = "monitor.silences/1"

_SEVERITIES = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_QUIET_STATES = (AlertState.PENDING, AlertState.RECOVERING, AlertState.RESOLVED)
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


@dataclass(frozen=True, slots=True)
class Heard:
    """What people hear of an alert: what holds its notices back, and what became of those that were sent."""

    holds: Holds = field(default_factory=Holds)
    told: tuple[Told, ...] = ()


def alert_table(alerts: Sequence[AlertRecord], heard: Mapping[str, Heard], now: datetime) -> Table:
    """One line an alert. States are words, colour only repeats them."""
    table = plain_table("id", "severity", "state", "since (UTC)", "what", "notice")
    for alert in alerts:
        table.add_row(
            alert.id,
            Text(alert.severity.value, _SEVERITIES[alert.severity]),
            Text(alert.state.value.upper(), "dim" if alert.state in _QUIET_STATES else "bold"),
            minute(alert.fired_at or alert.opened_at),
            Text(safe_text(what(alert))),
            Text(safe_text(notice(alert, heard.get(alert.id, Heard()), now))),
        )
    return table


def plain_table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=column not in ("what", "why", "comment"), overflow="fold")
    return table


def minute(at: datetime | None) -> str:
    return "–" if at is None else at.strftime("%Y-%m-%d %H:%M")


def what(alert: AlertRecord) -> str:
    """`acme/smol logprobs 0.010 → 0.658 nat`."""
    about = "/".join(alert.labels[name] for name in ("provider", "model") if name in alert.labels)
    return " ".join(part for part in (about, alert.metric or alert.rule, _movement(alert.finding)) if part)


def _movement(finding: Mapping[str, Any]) -> str:
    if finding.get("error"):
        return str(finding["error"])
    if finding.get("value") is None:
        return ""
    before = "" if finding.get("baseline") is None else f"{with_unit(finding['baseline'], None)} → "
    return before + with_unit(finding["value"], finding.get("unit"))


def notice(alert: AlertRecord, heard: Heard, now: datetime) -> str:
    """Who was told of it and when, then what holds further notices back."""
    return ", ".join(filter(None, (told_words(heard, now), held_words(alert, heard.holds))))


def told_words(heard: Heard, now: datetime) -> str:
    """`ops sent 2 h ago`, one of each channel."""
    return ", ".join(_told(each, now) for each in heard.told)


def _told(told: Told, now: datetime) -> str:
    word = {DeliveryStatus.DELIVERED: "sent", DeliveryStatus.FAILED: "failed"}.get(told.status, "waits, made")
    return f"{told.channel} {word} {_since(told.at, now)} ago"


def _since(at: datetime, now: datetime) -> str:
    seconds = max(0, int((now - at).total_seconds()))
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= size), ("s", 1))
    return f"{seconds // size} {unit}"


def held_words(alert: AlertRecord, holds: Holds) -> str:
    """What keeps people from hearing of it, most lasting first."""
    words = [f"acked by {alert.acked_by}"] if alert.acked_by else []
    words += [f"silenced by {holds.silence}"] if holds.silence else []
    words += [f"maintenance {holds.maintenance}"] if holds.maintenance else []
    words += [f"inhibited by {holds.inhibitor}"] if holds.inhibitor else []
    words += ["flapping"] if alert.flapping else []
    return ", ".join(words)


def event_table(events: Sequence[AlertEventRecord]) -> Table:
    table = plain_table("time (UTC)", "event", "state", "by", "told", "why")
    for event in events:
        table.add_row(
            minute(event.at),
            event.kind,
            event.to_state.value.upper(),
            Text(safe_text(event.actor)),
            "yes" if event.notice else "",
            Text(safe_text(event.reason)),
        )
    return table


def alert_item(alert: AlertRecord, heard: Heard) -> dict[str, Any]:
    held = heard.holds
    return {
        "id": alert.id,
        "fingerprint": alert.fingerprint,
        "rule": alert.rule,
        "metric": alert.metric,
        "endpoint_id": alert.endpoint_id,
        "labels": dict(alert.labels),
        "severity": alert.severity.value,
        "state": alert.state.value,
        "flapping": alert.flapping,
        "acked_at": iso(alert.acked_at),
        "acked_by": alert.acked_by,
        "silenced_by": held.silence,
        "maintenance": held.maintenance,
        "inhibited_by": held.inhibitor,
        "notices": [
            {"channel": told.channel, "type": told.type, "status": told.status.value, "at": iso(told.at)}
            for told in heard.told
        ],
        "note": alert.note,
        "finding": dict(alert.finding),
        "opened_at": iso(alert.opened_at),
        "fired_at": iso(alert.fired_at),
        "resolved_at": iso(alert.resolved_at),
        "row_version": alert.row_version,
    }


def event_item(event: AlertEventRecord) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "kind": event.kind,
        "from_state": None if event.from_state is None else event.from_state.value,
        "to_state": event.to_state.value,
        "at": iso(event.at),
        "actor": event.actor,
        "reason": event.reason,
        "notice": event.notice,
    }


def silence_table(silences: Sequence[SilenceRecord], now: datetime) -> Table:
    table = plain_table("id", "status", "from (UTC)", "until (UTC)", "labels", "author", "comment")
    for silence in silences:
        table.add_row(
            silence.id,
            _status(silence, now),
            minute(silence.starts_at),
            minute(silence.ends_at),
            Text(safe_text(" ".join(f"{name}={pattern}" for name, pattern in silence.matchers.items()))),
            Text(safe_text(silence.author)),
            Text(safe_text(silence.comment)),
        )
    return table


def silence_item(silence: SilenceRecord, now: datetime) -> dict[str, Any]:
    return {
        "id": silence.id,
        "status": _status(silence, now),
        "matchers": dict(silence.matchers),
        "starts_at": iso(silence.starts_at),
        "ends_at": iso(silence.ends_at),
        "author": silence.author,
        "comment": silence.comment,
        "row_version": silence.row_version,
    }


def _status(silence: SilenceRecord, now: datetime) -> str:
    if silence.ends_at <= now:
        return "over"
    return "active" if silence.starts_at <= now else "planned"


def iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
