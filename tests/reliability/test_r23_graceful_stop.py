"""R23: a worker that is told to stop puts its checks down at once; another worker goes on with them."""

from __future__ import annotations

import time
from signal import Signals

import pytest

from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.reliability.conftest import Measured
from tests.reliability.service import N, Service, wait_until
from tests.reliability.slow import Slow

pytestmark = pytest.mark.reliability

MAX_CONCURRENCY = 4


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_that_is_told_to_stop_leaves_its_check_to_another(
    sqlite_service: Service, pool: str, measured: Measured
) -> None:
    service = sqlite_service
    # A check that would take a minute.
    with ScriptedServer(Slow(6.0)) as slow:
        endpoint_id = service.configure(slow.base_url, provider={"limits": {"max_concurrency": MAX_CONCURRENCY}})
        for name in ("one", "two"):
            service.start_worker(pool, name=name)
        (check_id,) = service.enqueue(endpoint_id, "put down")
        wait_until(lambda: len(slow.received) >= 1 + MAX_CONCURRENCY, "several requests in flight")

        worker = service.owner(check_id)
        told = time.monotonic()
        worker.tell(Signals.SIGTERM)
        code = worker.wait()
        seconds = time.monotonic() - told

        assert (code, seconds < 35.0) == (0, True), worker.log.read_text()
        assert not service.entry(check_id).status.finished
        slow.handler = ScriptedModel()
        service.wait_for(check_id)
        service.assert_whole(check_id, attempts=1)
        assert len(slow.received) <= N + MAX_CONCURRENCY
    measured(
        fault=f"worker told to stop (SIGTERM, {pool}) with a check that takes a minute",
        times=1,
        lost=0,
        doubled=0,
        recovery_s=seconds,
        aim="stops within 35 s with exit 0; the check goes on elsewhere",
    )
