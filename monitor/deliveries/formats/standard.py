"""The format `standard`: Standard Webhooks' envelope of `type`, `timestamp` and `data`."""

from __future__ import annotations

from typing import Any

from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.notice import Notice
from monitor.deliveries.wording import alert_page, stamp, summary

SCHEMA = 1


def document(notice: Notice, truncated: int) -> dict[str, Any]:
    head = {"type": notice.type.value, "timestamp": stamp(notice.at)}
    if not notice.alerts:
        return {**head, "data": {"schema": SCHEMA, "labels": dict(notice.labels), **notice.data}}
    data = {
        "schema": SCHEMA,
        "reason": notice.reason.value,
        "group_key": notice.group_key,
        "truncated": truncated,
        "status": notice.status,
        "alerts": [_alert(notice, alert) for alert in notice.alerts],
    }
    return {**head, "data": data}


def _alert(notice: Notice, alert: AlertFacts) -> dict[str, Any]:
    found = alert.finding
    return {
        "id": alert.id,
        "fingerprint": alert.fingerprint,
        "state": alert.state.value,
        "severity": alert.severity.value,
        "acked": alert.acked,
        "flapping": alert.flapping,
        "rule": alert.rule,
        "metric": alert.metric,
        "labels": dict(alert.labels),
        "summary": summary(alert),
        "value": found.value,
        "baseline": found.baseline,
        "unit": found.unit,
        "ci": None if found.interval is None else list(found.interval),
        "n": found.n,
        "p": found.p,
        "detector": found.detector,
        "causes": [{"name": name, "weight": weight} for name, weight in found.causes],
        "error": found.error,
        "confirmed_by": list(found.checks),
        "runs": list(found.runs),
        "changed_between": [stamp(found.since), stamp(found.until)],
        "first_seen": stamp(alert.opened_at),
        "fired_at": stamp(alert.fired_at),
        "resolved_at": stamp(alert.resolved_at),
        "links": {"alert": alert_page(notice, alert), "api": f"/api/v1/alerts/{alert.id}"},
    }
