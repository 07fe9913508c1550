from __future__ import annotations

from datetime import timedelta

import pytest

from monitor import clock
from monitor.check.brake import Brake
from monitor.errors import LeaseLostError
from monitor.worker.heartbeat import Heartbeat
from monitor.worker.stop_sign import StopSign
from tests.reliability.service import Service, wait_until

NOWHERE = "http://127.0.0.1:9/v1"


def is_pulled(brake: Brake) -> bool:
    try:
        brake.check()
    except LeaseLostError:
        return True
    return False


def test_a_check_that_hangs_is_let_go_for_another_attempt(service: Service) -> None:
    (check_id,) = service.enqueue(service.configure(NOWHERE), "hangs", ring=False)
    claimed = service.queue.claim(check_id, "worker", clock.now())
    assert claimed is not None
    brake, brief = Brake(), timedelta(seconds=0.2)

    with Heartbeat(
        service.queue,
        claimed.lease,
        brief,
        progress=lambda: (0, 0),
        brake=brake,
        stop=StopSign(),
        longest=timedelta(0),
    ):
        wait_until(lambda: is_pulled(brake), "the brake is pulled")

    with pytest.raises(LeaseLostError, match="took too long"):
        brake.check()
    assert service.entry(check_id).lease_until == claimed.lease.until
