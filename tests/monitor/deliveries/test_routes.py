"""Which channels hear of what."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.alerts.states import Severity
from monitor.config.schema import ConfigFile
from monitor.deliveries.notice import NoticeType
from monitor.deliveries.routes import KEY_CHARS, Routes
from tests.monitor.deliveries.material import channel

LABELS = {"provider": "acme", "model": "qwen3-32b", "tier": "prod"}


def routes(*given: dict[str, Any], channels: tuple[str, ...] = ("ops", "chat"), **changes: Any) -> Routes:
    return Routes.of(
        ConfigFile.model_validate(
            {
                "version": 1,
                "channels": tuple(channel(name, **changes) for name in channels),
                "routes": tuple({"id": f"r{number}", **route} for number, route in enumerate(given)),
            }
        )
    )


def targets(found: Routes, labels: dict[str, str] = LABELS, severity: Severity = Severity.CRITICAL) -> Any:
    return [(target.channel, target.route, target.group_key) for target in found.targets(labels, severity)]


def test_an_alert_goes_where_its_labels_lead() -> None:
    found = routes({"match": {"provider": "acme"}, "to": ("ops",)}, {"match": {"provider": "other"}, "to": ("chat",)})

    assert targets(found) == [("ops", "r0", "provider=acme")]


def test_a_channel_hears_of_an_alert_once_by_the_first_route_that_leads_there() -> None:
    found = routes({"to": ("ops",), "group_by": ("model",)}, {"to": ("ops", "chat")})

    assert targets(found) == [("ops", "r0", "model=qwen3-32b"), ("chat", "r1", "provider=acme")]


def test_an_alert_below_a_routes_severity_takes_the_next_route() -> None:
    found = routes({"to": ("ops",), "min_severity": "critical"}, {"to": ("chat",)})

    assert targets(found, severity=Severity.WARNING) == [("chat", "r1", "provider=acme")]


def test_a_route_may_match_the_severity() -> None:
    found = routes({"match": {"severity": "critical"}, "to": ("ops",)})

    assert targets(found) != []
    assert targets(found, severity=Severity.WARNING) == []


def test_without_routes_everything_goes_everywhere() -> None:
    assert [channel for channel, _, _ in targets(routes())] == ["ops", "chat"]


def test_without_channels_nothing_goes_anywhere() -> None:
    assert targets(routes(channels=())) == []


def test_a_label_that_is_missing_groups_with_its_like() -> None:
    assert targets(routes({"to": ("ops",), "group_by": ("team", "tier")}))[0][2] == "team=,tier=prod"


def test_long_group_keys_stay_apart() -> None:
    found = routes({"to": ("ops",)})
    one, other = ({"provider": "x" * KEY_CHARS + end} for end in "ab")

    keys = [targets(found, labels)[0][2] for labels in (one, other)]
    assert keys[0] != keys[1]
    assert max(map(len, keys)) <= 512


@pytest.mark.parametrize("kind", NoticeType)
def test_a_channel_hears_everything_but_single_runs_unless_it_says_what(kind: NoticeType) -> None:
    usual = routes()
    choosy = routes(events=("run.finished",))

    assert usual.hears("ops", kind) is (kind is not NoticeType.RUN_FINISHED)
    assert choosy.hears("ops", kind) is (kind is NoticeType.RUN_FINISHED)
    assert not usual.hears("gone", kind)


def test_that_a_channel_fails_is_told_by_the_others() -> None:
    assert routes().listeners(NoticeType.DEGRADED, {"channel": "ops"}) == ["chat"]


def test_an_event_of_an_endpoint_follows_the_routes_and_one_of_the_service_goes_to_all() -> None:
    found = routes({"match": {"provider": "acme"}, "to": ("ops",)}, {"match": {"provider": "acme"}, "to": ("ops",)})

    assert found.listeners(NoticeType.BUDGET_EXHAUSTED, {"provider": "acme"}) == ["ops"]
    assert found.listeners(NoticeType.BUDGET_EXHAUSTED, {"provider": "other"}) == []
    assert found.listeners(NoticeType.DEGRADED, {}) == ["ops", "chat"]
