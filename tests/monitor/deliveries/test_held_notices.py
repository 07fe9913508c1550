"""What a silence, a maintenance window or a larger fault holds back: flapping and acknowledgements as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from monitor.alerts.events import EventKind
from monitor.alerts.states import AlertState
from monitor.deliveries.attempt import Tried
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.group import Hold
from tests.monitor.deliveries.courier import Courier, courier
from tests.monitor.deliveries.material import MINUTE, channel

SPAN = timedelta(seconds=5)


def taken(*_: object) -> Tried:
    return Tried(http_status=204)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Courier]:
    """Every message is taken at once."""
    with courier(f"sqlite:///{tmp_path / 'monitor.db'}", channel("ops")) as opened:
        opened.dispatch = replace(opened.dispatch, send=taken)
        yield opened


def hold_back(service: Courier, hold: Hold, duration: timedelta) -> None:
    """All that there is, from now on."""
    end = service.now + duration

    def holds(_: AlertFacts, at: datetime) -> frozenset[Hold]:
        return frozenset([hold]) if at < end else frozenset()

    service.dispatch = replace(service.dispatch, holds=holds)


@pytest.mark.parametrize("hold", [Hold.SILENCED, Hold.MAINTENANCE, Hold.INHIBITED])
def test_flapping_and_acknowledgements_are_not_told_while_something_holds_the_alert_back(
    service: Courier, hold: Hold
) -> None:
    service.fire(1)
    service.work_for(MINUTE)
    hold_back(service, hold, MINUTE)
    service.step(1, EventKind.ACKED, AlertState.FIRING, acked_at=service.now, acked_by="ana")
    service.step(1, EventKind.FLAPPING, AlertState.FIRING, flapping=True)
    service.work_for(SPAN)

    assert service.told() == ["alert.firing"]


def test_what_still_flaps_when_a_silence_ends_is_told_then_and_its_end_too(service: Courier) -> None:
    hold_back(service, Hold.SILENCED, SPAN)
    service.fire(1, flapping=True)
    service.step(1, EventKind.FLAPPING, AlertState.FIRING)
    service.work_for(MINUTE)
    assert service.told() == ["alert.flapping"]

    service.step(1, EventKind.RESOLVED, AlertState.RESOLVED, resolved_at=service.now, flapping=False)
    service.work_for(MINUTE)
    assert service.told() == ["alert.flapping", "alert.resolved"]


def test_flapping_that_began_and_ended_within_a_silence_is_no_news(service: Courier) -> None:
    service.fire(1)
    service.work_for(MINUTE)
    hold_back(service, Hold.SILENCED, SPAN)
    service.step(1, EventKind.FLAPPING, AlertState.FIRING, flapping=True)
    service.work_for(SPAN / 2)
    service.step(1, EventKind.CALM, AlertState.FIRING, flapping=False)
    service.work_for(MINUTE)

    assert service.told() == ["alert.firing"]


def test_an_acknowledgement_within_a_silence_is_old_news_afterwards(service: Courier) -> None:
    service.fire(1)
    service.work_for(MINUTE)
    hold_back(service, Hold.SILENCED, SPAN)
    service.step(1, EventKind.ACKED, AlertState.FIRING, acked_at=service.now, acked_by="ana")
    service.work_for(MINUTE)

    assert service.told() == ["alert.firing"]
