"""`monitor web|worker|beat|up` where they refuse to start: each says why, and makes nothing worse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from monitor.service.sockets import listening
from tests.monitor.cli.commands import Monitor

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("command", ["worker", "beat"])
def test_without_a_broker_it_is_refused(monitor: Monitor, data_dir: Path, command: str) -> None:
    ran = monitor(command)
    assert ran.code == 2
    assert "error[deployment_unsafe]: There is no broker" in ran.err


@pytest.mark.parametrize("command", ["worker", "beat", "web"])
def test_a_broker_elsewhere_does_not_go_with_sqlite(
    monitor: Monitor, data_dir: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONITOR_BROKER_URL", "redis://:a-secret-word@192.0.2.1:6379/0")
    ran = monitor(command)
    assert ran.code == 2
    assert "error[deployment_unsafe]: The broker is on another machine" in ran.err
    assert "a-secret-word" not in ran.err


def test_an_unknown_queue_is_named(monitor: Monitor, data_dir: Path) -> None:
    ran = monitor("worker", "--queue", "prob")
    assert ran.code == 2
    assert "There is no queue 'prob'" in ran.err


@pytest.mark.parametrize("command", ["web", "up"])
def test_other_addresses_need_a_user(data_dir: Path, command: str) -> None:
    words = [sys.executable, "-m", "monitor", command, "--host", "0.0.0.0", "--port", "0"]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "error[bind_refused]" in ran.stderr


def test_a_port_that_is_taken_is_named(monitor: Monitor, data_dir: Path) -> None:
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        ran = monitor("up", "--port", str(port))
    assert ran.code == 2
    assert f"Cannot listen on 127.0.0.1 port {port}" in ran.err
