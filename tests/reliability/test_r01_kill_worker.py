"""R1: a worker that is killed in the middle of a check costs no sample, doubles none, and few paid calls."""

from __future__ import annotations

import pytest

from tests.reliability.conftest import Measured
from tests.reliability.service import N, Service, wait_until
from tests.reliability.slow import slow_endpoint

pytestmark = pytest.mark.reliability

MAX_CONCURRENCY = 4


def kill_and_recover(service: Service, kills: int, measured: Measured) -> None:
    """In every round a check is half done when its worker dies; another worker ends it."""
    recoveries, extra = [], 0
    with slow_endpoint() as endpoint:
        endpoint_id = service.configure(endpoint.base_url, provider={"limits": {"max_concurrency": MAX_CONCURRENCY}})
        service.start_worker(name="w0")
        for kill in range(kills):
            before = len(endpoint.received)
            (check_id,) = service.enqueue(endpoint_id, f"kill-{kill}")
            service.start_worker(name=f"w{kill + 1}")
            # Another place in the check every time.
            wait_until(lambda: len(endpoint.received) >= before + 5 + 7 * kill % 30, "the first answers")  # noqa: B023

            service.owner(check_id).kill()

            recoveries.append(service.wait_for(check_id))
            service.assert_whole(check_id, attempts=2)
            extra = max(extra, len(endpoint.received) - before - N)
            assert len(endpoint.received) - before <= N + MAX_CONCURRENCY
    measured(
        fault="worker killed (SIGKILL, whole group) in the middle of a check",
        times=kills,
        lost=0,
        doubled=0,
        extra_calls=extra,
        recovery_s=max(recoveries),
        aim="taken over within 90 s; at most max_concurrency calls paid twice",
    )


def test_a_killed_worker_loses_and_doubles_nothing(service: Service, measured: Measured) -> None:
    kill_and_recover(service, 1, measured)


@pytest.mark.soak
def test_twenty_killed_workers_lose_and_double_nothing(service: Service, measured: Measured) -> None:
    kill_and_recover(service, 20, measured)
