from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from sqlalchemy import select

from monitor import clock
from monitor.check.reference import OpenReference
from monitor.config import ReferenceConfig, load_config
from monitor.config.objects import objects_of
from monitor.errors import StorageError
from monitor.store import RunStatus, limits
from monitor.store.config import ConfigObjects
from monitor.store.tables import Alert, ServiceEvent
from monitor.store.vocabulary import ConfigKind
from monitor.worker.execute import execute
from monitor.worker.names import EXECUTE, FAN_OUT
from monitor.worker.references import References
from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.monitor.store.material import sample, spent, start
from tests.reliability.service import ROOT, N, Service

NOWHERE = "http://127.0.0.1:9/v1"
PRICES = {"input_usd_per_mtok": 1000.0, "output_usd_per_mtok": 1000.0}
TODAY = clock.now().date()


def events(service: Service) -> dict[str, dict[str, object]]:
    with service.store.sessions.read() as session:
        return {event.type: event.data for event in session.scalars(select(ServiceEvent))}


def test_a_check_that_was_made_is_told_with_its_verdict(service: Service) -> None:
    with ScriptedServer(ScriptedModel()) as endpoint, service.context() as context:
        (check_id,) = service.enqueue(service.configure(endpoint.base_url), "one", ring=False)

        execute(context, check_id)

    service.assert_whole(check_id, attempts=1)
    assert service.entry(check_id).enrolled
    assert events(service)["run.finished"] == {
        "check": check_id,
        "trigger": "api",
        "status": "succeeded",
        "verdict": "inconclusive",
        "enrolled": True,
        "error": None,
    }


def test_when_a_check_ends_the_next_of_its_endpoint_is_rung_for(service: Service) -> None:
    rung: list[tuple[str, ...]] = []

    class Heard:
        def ring(self, task: str, *ids: str) -> None:
            rung.append((task, *ids))

    endpoint_id = service.configure(NOWHERE, provider={"api_key": "${env:NO_SUCH_KEY}"})
    first, second = service.enqueue(endpoint_id, "first", "second", ring=False)
    with service.context() as context:
        context.bell = Heard()
        execute(context, first)

    assert rung == [(EXECUTE, second), (FAN_OUT,)]


def test_a_check_of_an_endpoint_that_left_the_configuration_is_cancelled(service: Service) -> None:
    (check_id,) = service.enqueue(service.configure(NOWHERE), "gone", ring=False)
    file = objects_of(load_config(service.folder / "providers.yaml"))
    left = [one for one in file if one.kind is not ConfigKind.PROVIDER]
    ConfigObjects(service.store.sessions).apply(left, actor="test", at=clock.now())

    with service.context() as context:
        execute(context, check_id)

    assert service.entry(check_id).status is RunStatus.CANCELLED
    assert events(service)["run.finished"]["status"] == "cancelled"


def asked_and_lost(service: Service, endpoint_id: str, *, key: str = "lost") -> str:
    """A check as it is left by a worker that reserved, asked for one answer, and was killed an hour ago."""
    (check_id,) = service.enqueue(endpoint_id, key, ring=False)
    at = clock.now() - timedelta(hours=1)
    claimed = service.queue.claim(check_id, "lost", at)
    assert claimed is not None
    with service.store.sessions.write() as session:
        limits.reserve(session, check_id, "x", TODAY, 500_000, None)
    run_id = service.store.begin_run(start(endpoint_id, check_id=check_id, reference=None), at=at, lease=claimed.lease)
    service.store.add_samples(run_id, [sample("a")], at=at, lease=claimed.lease)
    service.queue.extend(claimed.lease, at, done=1, planned=40)
    return check_id


def test_an_attempt_that_fails_before_it_goes_on_forgets_no_spending_and_leaves_no_run_open(service: Service) -> None:
    no_tokenizer = {"lark": {"reference": {"tokenizer": "/no/such/tokenizer"}}}
    check_id = asked_and_lost(service, service.configure(NOWHERE, models=no_tokenizer, entry={"prices": PRICES}))

    with service.context() as context:
        execute(context, check_id)
        context.queue.sweep(clock.now())

    entry = service.entry(check_id)
    assert (entry.status, entry.error_code, entry.done, entry.planned) == (RunStatus.FAILED, "model_not_found", 1, 40)
    assert service.runs(check_id) == [RunStatus.FAILED]
    assert spent(service.store, "x", TODAY) == (500_000, 0)


def test_a_check_that_began_before_its_endpoint_left_the_configuration_leaves_nothing_open(service: Service) -> None:
    check_id = asked_and_lost(service, service.configure(NOWHERE))
    file = objects_of(load_config(service.folder / "providers.yaml"))
    left = [one for one in file if one.kind is not ConfigKind.PROVIDER]
    ConfigObjects(service.store.sessions).apply(left, actor="test", at=clock.now())

    with service.context() as context:
        execute(context, check_id)
        context.queue.sweep(clock.now())

    assert service.runs(check_id) == [RunStatus.CANCELLED]
    assert spent(service.store, "x", TODAY) == (500_000, 0)


def test_a_worker_that_lost_its_check_reserves_nothing_for_it(service: Service) -> None:
    (check_id,) = service.enqueue(service.configure(NOWHERE, entry={"prices": PRICES}), "lost", ring=False)

    class Late(References):
        def of(self, config: ReferenceConfig | None) -> OpenReference:
            service.queue.cancel(check_id, clock.now())
            return super().of(config)

    with service.context() as context:
        context.references = Late()
        execute(context, check_id)

    assert service.entry(check_id).status is RunStatus.CANCELLED
    assert spent(service.store, "x", TODAY) == (0, 0)


def test_a_check_that_is_cut_off_by_the_pool_is_another_attempts_to_judge(service: Service) -> None:
    (check_id,) = service.enqueue(service.configure(NOWHERE), "long", ring=False)

    class Long(References):
        def of(self, config: ReferenceConfig | None) -> OpenReference:
            raise SoftTimeLimitExceeded

    with service.context() as context:
        context.references = Long()
        execute(context, check_id)

    assert not service.entry(check_id).status.finished


def test_what_one_check_learned_of_an_endpoint_the_next_one_of_the_worker_knows(service: Service) -> None:
    with ScriptedServer(ScriptedModel(most_alternatives=5)) as endpoint, service.context() as context:
        endpoint_id = service.configure(endpoint.base_url)
        first, second = service.enqueue(endpoint_id, "first", "second", ring=False)
        execute(context, first)
        before = len(endpoint.received)
        assert before > N

        execute(context, second)

        assert len(endpoint.received) - before == N


def test_while_nothing_can_be_reached_no_provider_is_blamed(service: Service) -> None:
    (check_id,) = service.enqueue(service.configure(NOWHERE), "offline", ring=False)

    with service.context(canary_hosts="127.0.0.1:9,127.0.0.1:10") as context:
        execute(context, check_id)

    entry = service.entry(check_id)
    assert (entry.status, entry.error_code) == (RunStatus.FAILED, "offline")
    assert service.count(Alert) == 0


def test_a_provider_that_alone_is_away_is_blamed(service: Service) -> None:
    with ScriptedServer(ScriptedModel()) as other, ScriptedServer(ScriptedModel()) as another:
        (check_id,) = service.enqueue(service.configure(NOWHERE), "away", ring=False)
        with service.context(canary_hosts=f"127.0.0.1:{other.port},127.0.0.1:{another.port}") as context:
            execute(context, check_id)

    assert service.entry(check_id).error_code == "provider_unreachable"
    assert service.count(Alert) == 1


def test_a_key_that_is_missing_fails_the_check_and_blames_nobody(service: Service) -> None:
    endpoint_id = service.configure(NOWHERE, provider={"api_key": "${env:NO_SUCH_KEY}"})
    (check_id,) = service.enqueue(endpoint_id, "keyless", ring=False)

    with service.context() as context:
        execute(context, check_id)

    assert service.entry(check_id).error_code == "secret_missing"
    assert service.count(Alert) == 0


def test_a_worker_with_another_seed_refuses_to_work(service: Service) -> None:
    service.configure(NOWHERE)
    (service.data / "seed").unlink()

    with pytest.raises(StorageError, match="seed"), service.context():
        pass


def test_a_rate_is_shared_by_all_checks_of_a_provider(service: Service) -> None:
    with ScriptedServer(ScriptedModel()) as endpoint, service.context() as context:
        endpoint_id = service.configure(endpoint.base_url, provider={"limits": {"rpm": 1200}})
        ids = service.enqueue(endpoint_id, "first", "second", options={"probes": ["logprobs"], "n": 8}, ring=False)
        started = clock.monotonic()

        for check_id in ids:
            execute(context, check_id)

        # Sixteen requests, 50 ms apart, but for the first.
        assert clock.monotonic() - started >= 15 * 0.05


def test_without_a_reference_no_tensors_are_loaded(service: Service) -> None:
    with ScriptedServer(ScriptedModel()) as endpoint:
        (check_id,) = service.enqueue(service.configure(endpoint.base_url), "light", ring=False)
        program = f"""
import sys
from monitor.settings import load_settings
from monitor.worker import run, tasks
from monitor.worker.bell import SilentBell
from monitor.worker.context import Context
from monitor.worker.execute import execute
from monitor.worker.stop_sign import StopSign
execute(Context.open(load_settings(), SilentBell(), StopSign()), {check_id!r})
sys.exit("torch" in sys.modules)
"""
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, **service.environment}, check=False
        )

    assert done.returncode == 0
    assert service.entry(check_id).status is RunStatus.SUCCEEDED
