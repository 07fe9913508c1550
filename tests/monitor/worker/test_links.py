"""What a worker sends leads back to the service, where the service's address is known."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from monitor import clock
from monitor.store.tables import Delivery
from monitor.worker.notify import fan_out
from tests.monitor.worker.test_notify import configure, drifts
from tests.reliability.service import Service


@pytest.mark.parametrize(("address", "linked"), [("https://mon.example", True), ("", False)])
def test_a_notice_links_to_the_public_address_if_there_is_one(service: Service, address: str, linked: bool) -> None:
    configure(service)
    with service.context(external_url=address) as context:
        alert_id = drifts(context, "ours")
        for minutes in (0, 1):
            fan_out(context, clock.now() + timedelta(minutes=minutes))

    with service.store.sessions.read() as session:
        (body,) = session.scalars(select(Delivery.body))
    assert (f"<{address}/alerts/{alert_id}|".encode() in body) is linked
