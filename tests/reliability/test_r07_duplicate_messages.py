"""R7: every message comes three times and in another order; nothing is done twice."""

from __future__ import annotations

import random

import pytest

from monitor.worker.names import EXECUTE
from tests.reliability.conftest import Measured
from tests.reliability.service import N, Service
from tests.reliability.slow import slow_endpoint

pytestmark = pytest.mark.reliability

CHECKS = 4


def test_three_messages_for_each_check_make_it_once(service: Service, measured: Measured) -> None:
    with slow_endpoint(0.01) as endpoint:
        endpoint_id = service.configure(endpoint.base_url)
        ids = service.enqueue(endpoint_id, *(f"thrice-{number}" for number in range(CHECKS)), ring=False)
        messages = ids * 3
        random.Random(7).shuffle(messages)
        service.bell.ring(EXECUTE, *messages)
        service.start_worker(concurrency=4)

        service.wait_for(*ids)

        for check_id in ids:
            service.assert_whole(check_id, attempts=1)
        assert len(endpoint.received) == CHECKS * N
    measured(fault="every message three times, out of order", times=CHECKS, lost=0, doubled=0, aim="nothing done twice")
