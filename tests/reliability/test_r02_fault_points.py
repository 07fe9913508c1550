"""R2: where a process dies at any point of its work, the end is what it would have been without."""

from __future__ import annotations

import base64
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from monitor import clock
from monitor.datadir import SEED_BYTES
from monitor.fault_points import EXIT_CODE, VARIABLE, FaultPoint
from monitor.store.tables import Alert, AlertEvent, EndpointCheck, Evidence, Run
from monitor.worker.tick import tick
from tests.endpoints.scripted_model import NOISE, ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.monitor.deliveries.receiver import Receiver
from tests.reliability.conftest import Measured
from tests.reliability.service import HANG_GUARD_S, Service, emptied, work_off

pytestmark = pytest.mark.reliability

EVERY = timedelta(hours=1)
HOURLY = {"id": "hourly", "every": "1h", "jitter": "0%", "catch_up": "once", "deadline": "6h"}
SCHEDULES = [{**HOURLY, "probes": ["logprobs", "accounting"], "n": 24}]
NO_BROKER = "redis://127.0.0.1:1/0"
HOOK_SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()  # pragma: allowlist secret
ROUTES = [{"id": "all", "to": ["ops"], "group_wait": "100ms", "group_interval": "100ms"}]


@dataclass
class World:
    """A service with an endpoint that was enrolled and then changed, and a channel that waits to hear of it."""

    service: Service
    model: ScriptedModel
    receiver: Receiver
    next_slot: datetime

    def die_at(self, point: FaultPoint) -> None:
        """Do the work in a process of its own, which dies on the way."""
        process = multiprocessing.get_context("fork").Process(target=self._work, args=(point,))
        process.start()
        process.join(HANG_GUARD_S)
        assert process.exitcode == EXIT_CODE

    def _work(self, point: FaultPoint) -> None:
        os.environ[VARIABLE] = point.value
        self.go_on()

    def go_on(self) -> None:
        """What the beats and workers do that are left, or are started anew."""
        with self.service.context() as context:
            tick(context, self.next_slot)
            work_off(context)

    def state(self) -> dict[str, Any]:
        """All that anybody can see of what happened, without ids and times."""
        with self.service.store.sessions.read() as session:
            checks = session.execute(
                select(
                    EndpointCheck.trigger, EndpointCheck.status, EndpointCheck.verdict, EndpointCheck.enrolled
                ).order_by(EndpointCheck.queued_at, EndpointCheck.id)
            ).all()
            runs = session.execute(
                select(Run.probe, Run.status, Run.n_ok, Run.tokens_in).order_by(Run.started_at)
            ).all()
            evidence = session.execute(
                select(Evidence.metric, Evidence.verdict, Evidence.n).order_by(Evidence.id)
            ).all()
            alerts = session.execute(select(Alert.rule, Alert.metric, Alert.state).order_by(Alert.metric)).all()
            events = session.execute(
                select(AlertEvent.kind, AlertEvent.to_state).join(Alert).order_by(Alert.metric, AlertEvent.seq)
            ).all()
            untold = session.scalars(select(AlertEvent.id).where(AlertEvent.fanned_out_at.is_(None))).all()
        return {
            "checks": [tuple(row) for row in checks],
            "runs": [tuple(row) for row in runs],
            "evidence": [tuple(row) for row in evidence],
            "alerts": [tuple(row) for row in alerts],
            "events": [tuple(row) for row in events],
            "untold": len(untold),
            "heard": sorted(taken.type for taken in {taken.id: taken for taken in self.receiver.taken}.values()),
        }


@contextmanager
def changed_world(folder: Path, database: str, broker: str) -> Iterator[World]:
    folder.mkdir(exist_ok=True)
    service = Service(folder, database, broker, lease=0.5)
    # The same prompts in every world, so that the answers can be counted alike.
    service.data.joinpath("seed").write_bytes(bytes(SEED_BYTES))
    service.data.joinpath("seed").chmod(0o600)
    model = ScriptedModel(noise=NOISE)
    with ScriptedServer(model) as endpoint, Receiver() as receiver:
        channel = {"id": "ops", "url": receiver.url, "allow_private": True, "secret": "${env:R2_HOOK_SECRET}"}
        service.configure(endpoint.base_url, schedules=SCHEDULES, routes=ROUTES, channels=[channel])
        world = World(service, model, receiver, clock.now() - EVERY)
        world.go_on()
        world.next_slot += EVERY
        model.change = 1.0
        yield world
    service.close()


@pytest.fixture(scope="module")
def hook_secret() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("R2_HOOK_SECRET", HOOK_SECRET)
        yield


def crash_everywhere(folder: Path, database: str, broker: str, point: FaultPoint, unharmed: dict[str, Any]) -> None:
    with changed_world(folder, database, broker) as world:
        world.die_at(point)
        world.go_on()

        assert world.state() == unharmed


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory, hook_secret: None) -> dict[str, Any]:
    """How it ends when nothing dies."""
    folder = tmp_path_factory.mktemp("unharmed")
    with changed_world(folder, f"sqlite:///{folder / 'monitor.db'}", NO_BROKER) as world:
        world.go_on()
        return world.state()


def test_without_a_crash_the_drift_is_confirmed_and_told(unharmed: dict[str, Any]) -> None:
    assert [str(check[0]) for check in unharmed["checks"]] == ["schedule", "schedule", "confirm"]
    assert ("drift", "logprobs", "firing") in [tuple(map(str, alert)) for alert in unharmed["alerts"]]
    assert unharmed["untold"] == 0
    assert unharmed["heard"] == ["alert.firing"]


@pytest.mark.parametrize("point", FaultPoint)
def test_after_a_crash_all_is_as_without(tmp_path: Path, point: FaultPoint, unharmed: dict[str, Any]) -> None:
    folder = tmp_path / "one"
    crash_everywhere(folder, f"sqlite:///{tmp_path / 'monitor.db'}", NO_BROKER, point, unharmed)


@pytest.mark.soak
@pytest.mark.parametrize("point", FaultPoint)
def test_after_25_crashes_all_is_as_without(
    tmp_path: Path, database_url: str, point: FaultPoint, unharmed: dict[str, Any], measured: Measured
) -> None:
    for turn in range(25):
        emptied(database_url)
        crash_everywhere(tmp_path / str(turn), database_url, NO_BROKER, point, unharmed)
    measured(
        fault=f"process killed at the fault point {point.value}",
        times=25,
        lost=0,
        doubled=0,
        aim="state equal to a run without a crash; every alert event delivered",
    )
