"""One message that cannot be told, or tried, keeps no other from its receiver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from monitor.deliveries.attempt import Tried
from monitor.deliveries.dispatch import own_holds
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.group import Hold
from monitor.store.vocabulary import DeliveryStatus
from tests.monitor.deliveries.courier import Courier, courier
from tests.monitor.deliveries.material import MINUTE, channel


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Courier]:
    with courier(f"sqlite:///{tmp_path / 'monitor.db'}", channel("ops")) as opened:
        yield opened


def test_a_group_that_cannot_be_decided_holds_up_no_other(service: Courier) -> None:
    spoilt, well = service.fire(1, provider="acme"), service.fire(2, provider="umbrella")

    def holds(alert: AlertFacts, at: datetime) -> frozenset[Hold]:
        if alert.id == spoilt:
            raise KeyError("watches")
        return own_holds(alert, at)

    dispatch = replace(service.dispatch, holds=holds)
    dispatch.fan_out(service.now)
    later = service.now + timedelta(seconds=2)

    (made,) = dispatch.flush_due(later)
    (then,) = service.dispatch.flush_due(later)

    told = [tuple(service.deliveries.entry(one).alert_ids) for one in (made, then)]
    assert told == [(well,), (spoilt,)]


def test_a_try_that_goes_wrong_on_our_side_is_tried_again_as_any_other(service: Courier) -> None:
    def send(*_: object) -> NoReturn:
        raise KeyError("body")

    service.fire(1)
    dispatch = replace(service.dispatch, send=send)
    dispatch.fan_out(service.now)
    at = service.now + timedelta(seconds=2)
    (made,) = dispatch.flush_due(at)

    delivered = dispatch.deliver(made, "worker", at)

    assert delivered is not None
    assert delivered.tried.error == "an error of the monitor itself; its log has it"
    entry = service.deliveries.entry(made)
    assert (entry.status, entry.attempts) == (DeliveryStatus.PENDING, 1)
    assert entry.next_attempt_at > at


def test_a_channel_that_listens_only_to_what_is_over_hears_it_though_another_alert_fires(tmp_path: Path) -> None:
    listener = channel("ops", events=("alert.resolved",))
    with courier(f"sqlite:///{tmp_path / 'monitor.db'}", listener) as service:
        service.dispatch = replace(service.dispatch, send=lambda *_: Tried(http_status=204))
        service.fire(1)
        service.work_for(MINUTE)
        service.fire(2)
        service.resolve(1)
        service.work_for(MINUTE)
        service.resolve(2)
        service.work_for(MINUTE)

        assert [(entry.type, entry.alert_ids) for entry in service.entries()] == [
            ("alert.resolved", ("alr_0001",)),
            ("alert.resolved", ("alr_0002",)),
        ]
