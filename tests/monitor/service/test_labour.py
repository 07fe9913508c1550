"""What the watchdog reads of a worker: what it finished, what waits for it, what it works on."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from monitor.service.watchdog import labour
from monitor.store import Beats, CheckRequest, Queue, Store, Trigger
from monitor.worker.names import NOTIFY_QUEUE, QUEUES
from tests.monitor.store.material import AT, identity, later

ROOT = Path(__file__).parents[3]
NAME = "worker@here"

# A worker that began an hour ago and does nothing.
IDLE = """
import signal, sys
from datetime import timedelta
from monitor import clock
from monitor.service import watchdog
from monitor.settings import load_settings
watchdog._EVERY_S = 0.05
watchdog.watch(load_settings(), "worker@here", ["probe"], clock.now() - timedelta(hours=1))
print("watched", flush=True)
signal.pause()
"""


def enqueued(store: Store) -> str:
    endpoint = store.ensure_endpoint(identity(), at=AT).id
    (entry,) = Queue(store.sessions).enqueue([CheckRequest("a", endpoint, Trigger.API, AT)], AT)
    return entry.id


def test_progress_before_this_process_began_does_not_count(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        beats = Beats(store.sessions)
        beats.seen(NAME, "worker", QUEUES, "1", AT)
        assert labour(store.sessions, NAME, QUEUES, later(5), later(6)).progress_at == later(5)

        beats.progress(NAME, later(7))
        assert labour(store.sessions, NAME, QUEUES, later(5), later(8)).progress_at == later(7)


def test_only_the_work_of_its_own_queues_waits_for_it(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        enqueued(store)
        assert labour(store.sessions, NAME, QUEUES, AT, later(1)).due_since == AT
        assert labour(store.sessions, NAME, [NOTIFY_QUEUE], AT, later(1)).due_since is None


def test_a_lease_of_its_machine_keeps_it_busy(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        queue = Queue(store.sessions)
        queue.claim(enqueued(store), f"{socket.gethostname()}:17:1", AT, timedelta(minutes=1))
        assert labour(store.sessions, NAME, QUEUES, AT, AT).busy_until == later(1)


def test_a_lease_of_another_machine_does_not(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        Queue(store.sessions).claim(enqueued(store), "elsewhere:17:1", AT, timedelta(minutes=1))
        assert labour(store.sessions, NAME, QUEUES, AT, AT).busy_until is None


def test_a_worker_that_does_nothing_ends_once_work_has_waited_for_long(data_dir: Path) -> None:
    data_dir.mkdir()
    with Store.open(data_dir / "monitor.db", at=AT) as store:
        idle = subprocess.Popen([sys.executable, "-c", IDLE], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert idle.stdout is not None
        assert idle.stdout.readline() == b"watched\n"
        assert idle.poll() is None

        enqueued(store)

        _, told = idle.communicate(timeout=60)
    assert idle.returncode == -signal.SIGTERM
    assert b"finished nothing" in told
