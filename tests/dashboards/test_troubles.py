"""What the banner says of the monitor itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dashboards.troubles import troubles
from monitor.store.delivery_records import ChannelState
from monitor.store.pages_queries import ServiceNotice, Upkeep
from monitor.worker.tick import Ticking

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
TICKING = Ticking(NOW, NOW - timedelta(days=1))


def test_nothing_is_wrong() -> None:
    well = Upkeep((ChannelState("ops", failures=9),), ())
    assert troubles(well, TICKING, None, "", NOW) == []


def test_a_service_that_never_worked_says_so() -> None:
    assert troubles(Upkeep((), ()), None, None, "", NOW) == [
        "No worker has run yet: nothing is checked by itself, and no notice is sent."
    ]


def test_channels_that_fail_or_are_off_are_named_with_the_reason() -> None:
    channels = (
        ChannelState("ops", failures=12, reason="answered 500"),
        ChannelState("old", disabled_at=NOW, reason="the receiver answered 410"),
    )
    assert troubles(Upkeep(channels, ()), TICKING, None, "", NOW) == [
        "Channel ops has failed 12 times in a row: answered 500.",
        "Channel old is switched off: the receiver answered 410.",
    ]


def test_an_event_of_a_channel_is_told_by_the_channels_state_alone() -> None:
    notices = (ServiceNotice("12 tries failed", "ops", NOW), ServiceNotice("the disk is nearly full", None, NOW))
    assert troubles(Upkeep((), notices), TICKING, None, "", NOW) == ["the disk is nearly full"]


def test_a_configuration_that_cannot_be_used_comes_first() -> None:
    first, *_ = troubles(Upkeep((), ()), None, None, "providers.yaml: 1 problem", NOW)
    assert first.endswith("providers.yaml: 1 problem")
