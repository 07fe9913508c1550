"""A service as it runs: workers in processes of their own over a real database and broker, on behalf of a test."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from signal import Signals
from typing import Any

import yaml
from pydantic import SecretStr
from sqlalchemy import create_engine, func, make_url, select, text

from monitor import clock
from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.settings import Settings
from monitor.store import CheckEntry, CheckRequest, Queue, RunStatus, Store, Trigger
from monitor.store.config import ConfigObjects
from monitor.store.tables import Delivery, EndpointCheck, NotifyGroup, Run, Sample
from monitor.store.vocabulary import DeliveryStatus
from monitor.worker.app import make_app
from monitor.worker.bell import Bell, CeleryBell, SilentBell
from monitor.worker.context import Context
from monitor.worker.execute import execute
from monitor.worker.names import EXECUTE
from monitor.worker.notify import deliver, fan_out
from monitor.worker.stop_sign import StopSign
from monitor.worker.sweep import sweep

ROOT = Path(__file__).parent.parent.parent
HANG_GUARD_S = 180.0
N = 40
LOGPROBS: Mapping[str, Any] = {"probes": ["logprobs"], "n": N}

_WORKER = """
import sys
from monitor.logs import configure_logging
from monitor.settings import load_settings
from monitor.worker.run import run_worker
configure_logging()
run_worker(load_settings(), pool=sys.argv[1], concurrency=int(sys.argv[2]), name=sys.argv[3], with_beat=True)
"""


def wait_until(condition: Callable[[], bool], what: str) -> float:
    """How long it took, in seconds."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < HANG_GUARD_S, f"hangs: {what}"
        time.sleep(0.02)
    return time.monotonic() - start


class Service:
    """One installation. `lease` and the periods are in seconds, short enough for a test."""

    def __init__(self, folder: Path, database: str, broker: str, *, lease: float = 2.0, period: float = 0.5) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir(mode=0o700)
        self.database = database
        self.environment = {
            "MONITOR_DATA_DIR": str(self.data),
            "MONITOR_DATABASE_URL": database,
            "MONITOR_BROKER_URL": broker,
            "MONITOR_LEASE_SECONDS": str(lease),
            "MONITOR_TICK_SECONDS": str(period),
            "MONITOR_SWEEP_SECONDS": str(period),
        }
        self.settings = Settings(
            data_dir=self.data,
            database_url=SecretStr(database),
            broker_url=SecretStr(broker),
            lease_seconds=lease,
            tick_seconds=period,
            sweep_seconds=period,
        )
        self.store = Store.open(database, at=clock.now())
        self._workers: list[Worker] = []

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
        self.store.close()

    @property
    def queue(self) -> Queue:
        return Queue(self.store.sessions)

    @property
    def bell(self) -> Bell:
        return CeleryBell(make_app(self.settings))

    def configure(
        self,
        base_url: str,
        *,
        provider: Mapping[str, Any] | None = None,
        entry: Mapping[str, Any] | None = None,
        **top: Any,
    ) -> str:
        """Apply a configuration of one provider `x` with one model; the endpoint's id. Nothing is due by itself."""
        served = {"model": "lark", "name": "acme/lark-30b", **(entry or {})}
        asked = {"slug": "x", "base_url": base_url, "allow_private": True, **(provider or {}), "models": [served]}
        document = {"version": 1, "models": {"lark": {}}, "providers": [asked], **top}
        document.setdefault("schedules", [{"id": "yearly", "cron": "0 0 1 1 *"}])
        file = self.folder / "providers.yaml"
        file.write_text(yaml.safe_dump(document))
        objects = objects_of(load_config(file))
        ConfigObjects(self.store.sessions).apply(objects, actor="test", at=clock.now())
        with self.context() as context:
            (endpoint_id,) = context.configured().endpoints
        return endpoint_id

    @contextmanager
    def context(self, **settings: Any) -> Iterator[Context]:
        """A worker's context in this process, without a broker."""
        context = Context.open(self.settings.model_copy(update=settings), SilentBell(), StopSign())
        try:
            yield context
        finally:
            context.close()

    def enqueue(
        self, endpoint_id: str, *keys: str, options: Mapping[str, Any] = LOGPROBS, ring: bool = True
    ) -> list[str]:
        """The ids of new checks; their bells are rung."""
        now = clock.now()
        requests = [CheckRequest(f"test:{key}", endpoint_id, Trigger.API, now, options) for key in keys]
        ids = [entry.id for entry in self.queue.enqueue(requests, now)]
        if ring:
            self.bell.ring(EXECUTE, *ids)
        return ids

    def entry(self, check_id: str) -> CheckEntry:
        return self.queue.entry(check_id)

    def wait_for(self, *check_ids: str) -> float:
        def ended() -> bool:
            return all(self.entry(check_id).status.finished for check_id in check_ids)

        return wait_until(ended, f"the checks {check_ids}")

    def start_worker(self, pool: str = "threads", *, name: str = "w", concurrency: int = 2, **more: str) -> Worker:
        worker = Worker(
            self.folder / f"{name}.log", (pool, str(concurrency), f"{name}@test"), {**self.environment, **more}
        )
        self._workers.append(worker)
        return worker

    def owner(self, check_id: str) -> Worker:
        """The worker that is making a check."""
        pid = int(str(self.entry(check_id).lease_owner).rsplit(":", 2)[1])
        (worker,) = (one for one in self._workers if os.getpgid(pid) == one.process.pid)
        return worker

    def samples(self, check_id: str) -> tuple[int, int]:
        """How many samples a check has, and how many different ones."""
        with self.store.sessions.read() as session:
            rows = session.execute(
                select(Sample.run_id, Sample.item_key, Sample.rep)
                .join(Run, Run.id == Sample.run_id)
                .where(Run.check_id == check_id)
            ).all()
        return len(rows), len(set(rows))

    def runs(self, check_id: str) -> list[RunStatus]:
        with self.store.sessions.read() as session:
            return list(session.scalars(select(Run.status).where(Run.check_id == check_id)))

    def count(self, table: Any) -> int:
        with self.store.sessions.read() as session:
            return session.scalars(select(func.count()).select_from(table)).one()

    def assert_whole(self, check_id: str, *, attempts: int, n: int = N) -> None:
        """The check succeeded in its `attempts`-th attempt, with one run that has every sample once."""
        entry = self.entry(check_id)
        assert (entry.status, entry.error, entry.attempt) == (RunStatus.SUCCEEDED, None, attempts)
        assert self.runs(check_id) == [RunStatus.SUCCEEDED]
        assert self.samples(check_id) == (n, n)


class Worker:
    """A worker, with beat, in a process group of its own. Its output is in `log`."""

    def __init__(self, log: Path, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", _WORKER, *words],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def tell(self, number: Signals) -> None:
        """Of the main process alone, as a service manager does it."""
        self.process.send_signal(number)

    def tell_group(self, number: Signals) -> None:
        os.killpg(self.process.pid, number)

    def halt(self) -> None:
        """SIGSTOP to the whole group. Returns once every thread of it stands: a busy machine takes its time."""
        self.tell_group(Signals.SIGSTOP)
        wait_until(lambda: _states(self.process.pid) <= {"T", "Z"}, "the group is stopped")

    def kill(self) -> None:
        """kill -9, of the whole group."""
        if self.process.poll() is None:
            self.tell_group(Signals.SIGKILL)
            self.process.wait(HANG_GUARD_S)

    def wait(self) -> int:
        return self.process.wait(HANG_GUARD_S)


def _states(group: int) -> set[str]:
    """In what states the threads of a process group are, in the letters of proc(5)."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
        with suppress(OSError):  # It may have ended since it was listed.
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            found |= {state} if int(of) == group else set()
    return found


def work_off(context: Context) -> None:
    """Do everything that is waiting, one after the other, as a worker's tasks would, until nothing is left to do."""

    def once() -> bool:
        for check_id in sweep(context, clock.now()).to_ring:
            execute(context, check_id)
        fan_out(context, clock.now())
        for delivery_id in context.deliveries.due(clock.now()):
            deliver(context, delivery_id, clock.now())
        return not _left(context)

    wait_until(once, "what is waiting")


def _left(context: Context) -> bool:
    """Whether there are open checks, unsent deliveries, or groups that are about to be told of."""
    soon = clock.now() + timedelta(seconds=10)
    left = (
        select(EndpointCheck.id).where(~EndpointCheck.status.in_([one for one in RunStatus if one.finished])),
        select(Delivery.id).where(~Delivery.status.in_([one for one in DeliveryStatus if one.finished])),
        select(NotifyGroup.group_key).where(NotifyGroup.due_at <= soon),
    )
    with context.store.sessions.read() as session:
        return any(session.scalars(query.limit(1)).first() is not None for query in left)


def emptied(database: str) -> None:
    """Make a database as it was before anything was stored in it."""
    url = make_url(database)
    if url.get_backend_name() == "sqlite":
        for file in Path(str(url.database)).parent.glob("monitor.db*"):
            file.unlink()
        return
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
