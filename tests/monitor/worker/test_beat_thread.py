"""Beat beside a worker: where it ends, whoever runs the worker hears of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest
from pydantic import SecretStr

from monitor.settings import Settings
from monitor.worker.app import make_app
from monitor.worker.beat_thread import BeatThread

HANG_GUARD_S = 60.0
ROOT = Path(__file__).parents[3]
WORKER = """
import sys
from celery.beat import Scheduler
from monitor.logs import configure_logging
from monitor.settings import load_settings
from monitor.worker.run import run_worker

def fail(scheduler):
    raise OSError("out of luck")

Scheduler.tick = fail
configure_logging()
run_worker(load_settings(), pool="threads", concurrency=1, with_beat=True)
"""


def beat(broker_url: str, failed: Event, scheduler: str = "celery.beat:Scheduler") -> BeatThread:
    settings = Settings(data_dir=Path("/nowhere"), broker_url=SecretStr(broker_url), tick_seconds=0.05)
    app = make_app(settings)
    app.conf.beat_scheduler = scheduler
    thread = BeatThread(app, failed.set)
    thread.start()
    return thread


def test_a_beat_that_ends_by_itself_is_told_of_without_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    failed = Event()

    beat("redis://:canary@127.0.0.1:1/0", failed, scheduler="no_such_module:Scheduler").join(HANG_GUARD_S)

    assert failed.is_set()
    assert "Beat ended with ModuleNotFoundError." in caplog.text
    assert "canary" not in caplog.text


def test_a_beat_that_is_stopped_is_no_failure(valkey_url: str) -> None:
    failed = Event()
    thread = beat(valkey_url, failed)

    thread.stop()
    thread.join(HANG_GUARD_S)

    assert not thread.is_alive()
    assert not failed.is_set()


def test_a_worker_whose_beat_ends_ends_too(tmp_path: Path, valkey_url: str) -> None:
    own = {"MONITOR_DATA_DIR": str(tmp_path), "MONITOR_BROKER_URL": valkey_url}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WORKER],
        cwd=ROOT,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=HANG_GUARD_S,
        check=True,
    )

    assert "Beat ended with OSError." in ran.stderr
