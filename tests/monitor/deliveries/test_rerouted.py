"""Routes that change under an open alert: each channel hears it fire once, and be over once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.alerts.events import EventKind
from monitor.alerts.states import AlertState, Severity
from monitor.deliveries.attempt import Tried
from tests.monitor.deliveries.courier import Courier, courier
from tests.monitor.deliveries.material import HOUR, MINUTE, channel

ONCE = ["alert.firing", "alert.resolved"]
DAY = timedelta(days=1)


def taken(*_: object) -> Tried:
    return Tried(http_status=204)


def refused(*_: object) -> Tried:
    return Tried(http_status=500)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Courier]:
    """Two channels that take every message at once."""
    with courier(f"sqlite:///{tmp_path / 'monitor.db'}", channel("ops"), channel("chat")) as opened:
        opened.dispatch = replace(opened.dispatch, send=taken)
        yield opened


def to(name: str, *channels: str, **changes: Any) -> dict[str, Any]:
    return {"id": name, "to": channels, **changes}


RENAMED = [to("new", "ops", "chat")]
REGROUPED = [to("all", "ops", "chat", group_by=("model",))]
ANOTHER_BEFORE = [to("first", "ops", group_by=("model",)), to("all", "ops", "chat")]
NO_ROUTES: list[dict[str, Any]] = []
LEADING_ELSEWHERE = [to("all", "ops", "chat", match={"provider": "umbrella"})]
GONE_AND_ELSEWHERE = [to("new", "ops", "chat", match={"provider": "umbrella"})]

EDITS = {
    "renamed": RENAMED,
    "regrouped": REGROUPED,
    "another_before": ANOTHER_BEFORE,
    "no_routes": NO_ROUTES,
    "leading_elsewhere": LEADING_ELSEWHERE,
    "gone_and_elsewhere": GONE_AND_ELSEWHERE,
}


@pytest.mark.parametrize(
    ("edit", "refires"), [*((edit, False) for edit in EDITS), ("regrouped", True), ("leading_elsewhere", True)]
)
def test_whatever_becomes_of_the_routes_a_channel_hears_one_firing_and_one_end(
    service: Courier, edit: str, refires: bool
) -> None:
    service.fire(1)
    service.work_for(MINUTE)
    service.reroute(*EDITS[edit])
    if refires:
        service.step(1, EventKind.REFIRED, AlertState.FIRING)
    service.work_for(HOUR)
    service.resolve(1)
    service.work_for(HOUR)

    assert (service.told("ops"), service.told("chat")) == (ONCE, ONCE)


@pytest.mark.parametrize(("edit", "repeats"), [("renamed", 1), ("regrouped", 1), ("gone_and_elsewhere", 0)])
def test_an_alert_is_repeated_where_routes_still_lead(service: Courier, edit: str, repeats: int) -> None:
    service.fire(1)
    service.work_for(MINUTE)
    service.reroute(*EDITS[edit])
    service.work_for(DAY)
    assert service.told() == ["alert.firing"] * (1 + repeats)

    service.resolve(1)
    service.work_for(MINUTE)
    assert service.told() == ["alert.firing"] * (1 + repeats) + ["alert.resolved"]


def test_an_alert_that_gets_worse_ends_once_on_the_channels_of_both_severities(service: Courier) -> None:
    service.reroute(
        to("warnings", "chat", match={"severity": "warning"}), to("pages", "ops", match={"severity": "critical"})
    )
    service.fire(1, severity=Severity.WARNING)
    service.work_for(MINUTE)
    service.step(1, EventKind.ESCALATED, AlertState.FIRING, severity=Severity.CRITICAL)
    service.work_for(MINUTE)
    service.resolve(1)
    service.work_for(MINUTE)

    assert (service.told("ops"), service.told("chat")) == (ONCE, ONCE)


def test_an_alert_that_gets_worse_on_another_route_of_its_channel_is_the_same_there(service: Courier) -> None:
    service.reroute(to("pages", "ops", min_severity="critical", group_by=("model",)), to("warnings", "ops"))
    service.fire(1, severity=Severity.WARNING)
    service.work_for(MINUTE)
    service.step(1, EventKind.ESCALATED, AlertState.FIRING, severity=Severity.CRITICAL)
    service.work_for(MINUTE)
    service.resolve(1)
    service.work_for(MINUTE)

    service.work_for(2 * DAY)
    assert service.told() == ["alert.firing", "alert.firing", "alert.resolved"]


def test_the_end_stays_in_the_line_in_which_the_firing_still_waits(service: Courier) -> None:
    service.dispatch = replace(service.dispatch, send=refused)
    service.fire(1)
    service.work_for(MINUTE)
    service.reroute(*REGROUPED)
    service.resolve(1)
    service.work_for(MINUTE)

    assert service.told() == ONCE
    assert {entry.group_key for entry in service.entries()} == {"provider=acme"}
