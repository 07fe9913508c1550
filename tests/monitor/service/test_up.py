"""`monitor up` as a new user starts it: with nothing configured."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.monitor.service.processes import HANG_GUARD_S, children_of, processes_with, wait_until

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.timeout(180)
CHILDREN = {"broker", "reference", "web", "worker"}


class Up:
    def __init__(self, folder: Path, *, data: str = "data") -> None:
        self.data = folder / data
        self.log = folder / "log"
        self.process = begun(folder, self.data, self.log)
        assert self.process.stdout is not None
        self.told = [self.process.stdout.readline() for _ in range(2)]
        assert self.told[0].startswith("The service is at http://127.0.0.1:"), self.log.read_text()
        self.url = self.told[0].split()[-1]

    def get(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=HANG_GUARD_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def ready(self) -> bool:
        return self.get("/readyz?deep=1")[0] == 200

    def children(self) -> dict[str, int]:
        """The process ids by the children's names."""
        found = {}
        for pid, words in self.left().items():
            if pid in children_of(self.process.pid):
                line = " ".join(words)
                (name,) = [name for name, sign in SIGNS.items() if sign in line] or ["other"]
                found[name] = pid
        return found

    def left(self) -> dict[int, list[str]]:
        return processes_with(str(self.data))

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)
        assert self.process.stdout is not None
        self.process.stdout.close()


def begun(folder: Path, data: Path, log: Path) -> subprocess.Popen[str]:
    """`monitor up`, which does not look for modules in its folder; neither may what it starts."""
    (folder / "calendar.py").write_text("raise ImportError('that of the folder')")
    with log.open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "monitor", "up", "--port", "0"],
            cwd=folder,
            env=environment(folder, data),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )


SIGNS = {
    "broker": "valkey-server",
    "reference": "reference_engine pool",
    "web": "monitor web",
    "worker": "monitor worker",
}


def environment(folder: Path, data: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MONITOR_")}
    more = {"MONITOR_DATA_DIR": str(data), "MONITOR_TICK_SECONDS": "0.5", "MONITOR_CANARY_SECONDS": "0.5"}
    home = {"HOME": str(folder), "TMPDIR": str(folder)}
    return {**own, **more, **home, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    service = Up(tmp_path_factory.mktemp("up"))
    yield service
    service.end()


@pytest.fixture
def own_up(tmp_path: Path) -> Iterator[Up]:
    service = Up(tmp_path)
    wait_until(lambda: set(service.children()) == CHILDREN, "all children")
    yield service
    service.end()


def test_it_says_what_to_do_next_and_works_at_once(up: Up) -> None:
    assert re.fullmatch(rf"Everything is open .*: {up.url}/setup\?token=\S+\n", up.told[1])
    assert "`monitor config init`" in up.log.read_text()

    wait_until(up.ready, "ready")

    assert up.get("/healthz") == (200, '{"status":"ok"}')
    assert [up.get(path)[0] for path in ("/", "/api/v1/endpoints", "/openapi.json")] == [200, 200, 200]
    assert "monitor_worker_last_progress_seconds 0" in up.get("/metrics")[1]


def test_a_second_one_on_the_same_data_is_refused(up: Up, tmp_path: Path) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "monitor", "up", "--port", "0"],
        cwd=tmp_path,
        env=environment(tmp_path, up.data),
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode == 2
    assert f"in use by process {up.process.pid} ({up.url})" in second.stderr


def test_status_finds_it(up: Up, tmp_path: Path) -> None:
    wait_until(up.ready, "ready")
    told = subprocess.run(
        [sys.executable, "-m", "monitor", "status", "--json"],
        cwd=tmp_path,
        env=environment(tmp_path, up.data),
        capture_output=True,
        text=True,
        check=True,
    )
    document = json.loads(told.stdout)
    assert (document["web"]["url"], document["web"]["ok"]) == (up.url, True)
    assert len(document["workers"]) == 1
    assert document["queues"]["probe"]["count"] == 0


def test_every_child_that_is_killed_is_started_again(up: Up) -> None:
    wait_until(lambda: set(up.children()) == CHILDREN, "all children")
    before = up.children()

    for pid in before.values():
        os.kill(pid, signal.SIGKILL)

    def all_new() -> bool:
        now = up.children()
        return set(now) == CHILDREN and not set(now.values()) & set(before.values())

    wait_until(all_new, "new children")
    wait_until(up.ready, "ready again")
    assert up.process.poll() is None


def test_sigterm_leaves_no_process(own_up: Up) -> None:
    wait_until(own_up.ready, "ready")
    groups = {os.getpgid(pid) for pid in own_up.children().values()}
    assert groups == set(own_up.children().values())

    own_up.process.send_signal(signal.SIGTERM)

    assert own_up.process.wait(HANG_GUARD_S) == 0
    assert own_up.left() == {}
    for group in groups:
        with pytest.raises(ProcessLookupError):
            os.killpg(group, 0)
    assert not list(own_up.data.glob("*.sock"))


def test_a_killed_supervisor_leaves_no_orphan(own_up: Up) -> None:
    own_up.process.kill()

    own_up.process.wait(HANG_GUARD_S)
    wait_until(lambda: not own_up.left(), "orphans")


def test_a_service_that_is_stopped_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    data = tmp_path / ("d" * 100)
    with begun(tmp_path, data, tmp_path / "log") as process:
        wait_until(lambda: list(tmp_path.glob("monitor-*")), "the folder of the sockets")

        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)

        assert process.wait(HANG_GUARD_S) == 0
    assert not list(tmp_path.glob("monitor-*"))
