"""The format `alertmanager_v4`: what Prometheus Alertmanager sends, so that its receivers work unchanged.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.notice import Notice
from monitor.deliveries.wording import alert_page, event_lines, stamp, summary, title

# Go's zero time, by which Alertmanager says "not over".
_NOT_OVER = "0001-01-01T00:00:00Z"


def document(notice: Notice, truncated: int) -> dict[str, Any]:
    alerts = [_alert(notice, alert) for alert in notice.alerts] or [_event(notice)]
    return {
        "version": "4",
        "groupKey": f"{{}}:{{{notice.group_key}}}",
        "truncatedAlerts": truncated,
        "status": "resolved" if notice.status == "resolved" else "firing",
        "receiver": notice.channel,
        "groupLabels": dict(notice.group_labels),
        "commonLabels": _common([alert["labels"] for alert in alerts]),
        "commonAnnotations": _common([alert["annotations"] for alert in alerts]),
        "externalURL": notice.external_url,
        "notification_reason": notice.reason.value.replace("_", " "),
        "alerts": alerts,
    }


def _alert(notice: Notice, alert: AlertFacts) -> dict[str, Any]:
    return {
        "status": "resolved" if alert.resolved else "firing",
        "labels": {
            **alert.labels,
            "alertname": alert.rule,
            "severity": alert.severity.value,
            "metric": alert.metric,
            "alert_id": alert.id,
        },
        "annotations": {"summary": summary(alert)},
        "startsAt": stamp(alert.fired_at or alert.opened_at),
        "endsAt": stamp(alert.resolved_at) or _NOT_OVER,
        "generatorURL": alert_page(notice, alert),
        "fingerprint": alert.fingerprint,
    }


def _event(notice: Notice) -> dict[str, Any]:
    return {
        "status": "firing",
        "labels": {**notice.labels, "alertname": notice.type.value, "severity": "info"},
        "annotations": {"summary": title(notice), "description": "\n".join(event_lines(notice))},
        "startsAt": stamp(notice.at),
        "endsAt": _NOT_OVER,
        "generatorURL": notice.external_url,
        "fingerprint": notice.group_key,
    }


def _common(maps: Sequence[dict[str, str]]) -> dict[str, str]:
    first, *others = maps
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}
