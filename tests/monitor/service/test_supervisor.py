"""The supervisor over real processes: kept running, stopped in order, never left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from monitor.service.child import Child, Process
from tests.monitor.service.processes import HANG_GUARD_S, children_of, processes_with, wait_until

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("supervised.py")
pytestmark = pytest.mark.timeout(180)
# Says its number, then waits; `exec` makes the shell the one that waits.
STAYS = "echo pid $$; exec sleep 1000"


class Supervised:
    def __init__(self, folder: Path, words: tuple[str, ...], first_delay_s: float) -> None:
        self.mark = f"SUPERVISED={folder}"
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, str(first_delay_s), *words],
            cwd=folder,
            env={**os.environ, "SUPERVISED": str(folder), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.out: IO[str] = self.process.stdout
        self._unasked: list[str] = []

    def line(self, pattern: str) -> re.Match[str]:
        """The first line that matches and was not asked for yet: two children may speak in either order."""
        for index, line in enumerate(self._unasked):
            if found := re.search(pattern, line):
                del self._unasked[index]
                return found
        for line in self.out:
            if found := re.search(pattern, line):
                return found
            self._unasked.append(line)
        raise AssertionError(f"no line like {pattern}")

    def pid(self, name: str) -> int:
        return int(self.line(rf"^{name} +\| pid (\d+)")[1])

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        return self.process.wait(HANG_GUARD_S)

    def left(self) -> dict[int, list[str]]:
        return processes_with(self.mark)


Start = Callable[..., Supervised]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    begun: list[Supervised] = []

    def begin(*words: str, first_delay_s: float = 0.01) -> Supervised:
        begun.append(Supervised(tmp_path, words, first_delay_s))
        return begun[-1]

    yield begin
    for one in begun:
        one.process.kill()
        one.process.wait()
        one.out.close()
        for pid in one.left():
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_asked_and_leaves_nothing(start: Start, number: signal.Signals) -> None:
    service = start(f"a:1:{STAYS}", f"b:1:{STAYS}")
    pids = {service.pid("a"), service.pid("b")}
    assert pids < set(service.left())
    assert all(os.getpgid(pid) == pid for pid in pids)

    service.signal(number)

    assert service.ended() == 0
    assert service.left() == {}


def test_a_child_that_ended_is_started_again(start: Start) -> None:
    service = start(f"a:1:{STAYS}")
    first = service.pid("a")

    os.kill(first, signal.SIGKILL)

    assert service.line(r"^up +\| (a ended with signal 9)")
    assert service.pid("a") != first


def test_what_a_child_started_itself_ends_with_it(start: Start) -> None:
    service = start("a:1:sleep 1000 & echo pid $!; exit 1")
    of_its_own = service.pid("a")
    wait_until(lambda: of_its_own not in service.left(), "the child's own child")


def test_a_child_that_cannot_be_kept_running_ends_all(start: Start) -> None:
    service = start(f"a:1:{STAYS}", "b:1:echo why; exit 7")

    assert service.ended() == 1
    told = service.out.read()
    assert told.count("b         | why") == 5
    assert "service_failed: b failed 5 times within 60 s; last it ended with exit code 7." in told
    assert service.left() == {}


def test_a_child_that_cannot_be_started_is_tried_again_and_ends_all_in_the_end(start: Start) -> None:
    service = start(f"a:1:{STAYS}", "b:1:")

    assert service.ended() == 1
    told = service.out.read()
    assert told.count("b could not be started ([Errno 2] No such file or directory: '/no/such/program'); again in") == 4
    assert "service_failed: b failed 5 times" in told
    assert service.left() == {}


def test_a_child_that_cannot_be_started_leaves_nothing_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError):
        Process(Child("a", ("/no/such/program",), {}))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_last_words_of_a_child_are_passed_on(start: Start) -> None:
    service = start("a:1:printf 'no end of line'; exit 1", first_delay_s=5)
    assert service.line(r"^a +\| no end of line$")


def test_a_killed_supervisor_takes_its_children_along(start: Start) -> None:
    service = start(f"a:0:{STAYS}", f"b:1:trap '' TERM; {STAYS}")
    service.pid("a"), service.pid("b")

    service.signal(signal.SIGKILL)

    service.ended()
    wait_until(lambda: not service.left(), "orphans")


def test_a_later_stage_waits_until_the_earlier_one_is_ready(start: Start, tmp_path: Path) -> None:
    service = start("b:1:echo there is; cat first; exec sleep 1000", f"ready-a:0:echo something > first; {STAYS}")
    pid = service.pid("ready-a")
    assert children_of(service.process.pid) == [pid]

    (tmp_path / "ready-a").touch()

    service.line(r"^b +\| there is")
    assert service.line(r"^b +\| something")


def test_stages_are_stopped_in_the_opposite_order(start: Start, tmp_path: Path) -> None:
    def leaves_last_words(name: str) -> str:
        return f"trap 'echo {name} >> order; exit 0' TERM; echo pid $$; while :; do sleep 0.05; done"

    service = start(*(f"{name}:{stage}:{leaves_last_words(name)}" for stage, name in enumerate("abc")))
    for name in "abc":
        service.pid(name)

    service.signal(signal.SIGTERM)

    assert service.ended() == 0
    assert (tmp_path / "order").read_text().split() == ["c", "b", "a"]


def test_asked_twice_it_does_not_wait_for_a_child_that_will_not_end(start: Start) -> None:
    service = start("a:1:trap '' TERM; echo pid $$; while :; do sleep 0.05; done")
    service.pid("a")

    service.signal(signal.SIGTERM)
    service.signal(signal.SIGINT)

    assert service.ended() == 0
    assert service.line(r"^up +\| a does not stop; killed")
    assert service.left() == {}


def test_a_hangup_reloads_and_stops_nobody(start: Start) -> None:
    service = start(f"a:1:{STAYS}")
    pid = service.pid("a")

    service.signal(signal.SIGHUP)

    service.line("^reloaded")
    assert children_of(service.process.pid) == [pid]
