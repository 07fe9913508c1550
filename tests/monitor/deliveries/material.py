"""Alerts, notices and channels to test with."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.alerts.states import AlertState, Severity
from monitor.config.service import Channel
from monitor.deliveries.facts import AlertFacts, Finding
from monitor.deliveries.notice import Notice, NoticeType, Reason

AT = datetime(2026, 11, 29, 10, 15, 4, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"  # pragma: allowlist secret
OLD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # pragma: allowlist secret


def alert(number: int = 1, **changes: Any) -> AlertFacts:
    """A firing drift alert."""
    given: dict[str, Any] = {
        "id": f"alr_{number:04}",
        "fingerprint": f"9f2c{number:04}",
        "rule": "drift",
        "metric": "logprobs",
        "severity": Severity.CRITICAL,
        "state": AlertState.FIRING,
        "labels": {"provider": "acme", "model": "qwen3-32b", "endpoint": "ep_1", "rule": "drift"},
        "opened_at": AT - HOUR,
        "fired_at": AT - MINUTE,
        "finding": Finding(
            value=0.658,
            baseline=0.003,
            unit="nat",
            interval=(0.556, 0.877),
            n=40,
            p=1e-5,
            detector="energy/3",
            causes=(("w4-g64", 0.98), ("fp8-e4m3", 0.02)),
            checks=("chk_1", "chk_2"),
            runs=("run_1", "run_2"),
            since=AT - 2 * HOUR,
            until=AT - HOUR,
        ),
    }
    return AlertFacts(**{**given, **changes})


def resolved(number: int = 1, **changes: Any) -> AlertFacts:
    return alert(number, state=AlertState.RESOLVED, resolved_at=AT, **changes)


def notice(*alerts: AlertFacts, **changes: Any) -> Notice:
    given: dict[str, Any] = {
        "type": NoticeType.FIRING,
        "reason": Reason.FIRST,
        "at": AT,
        "channel": "ops",
        "group_key": "provider=acme",
        "alerts": alerts,
        "group_labels": {"provider": "acme"},
        "external_url": "https://mon.example",
    }
    return Notice(**{**given, **changes})


def channel(name: str = "ops", url: str = "https://hooks.example/in", **changes: Any) -> Channel:
    return Channel.model_validate({"id": name, "url": url, **changes})


def stored_finding(**changes: Any) -> Mapping[str, Any]:
    """An alert's finding, as the database holds it."""
    return {
        "value": 0.658,
        "baseline": 0.003,
        "unit": "nat",
        "ci": [0.556, 0.877],
        "n": 40,
        "p": 1e-5,
        "detector": "energy/3",
        "causes": [{"name": "w4-g64", "weight": 0.98}],
        "checks": ["chk_1", "chk_2"],
        "runs": ["run_1"],
        "since": "2026-11-29T08:15:04+00:00",
        "until": "2026-11-29T09:15:04+00:00",
        **changes,
    }
