from __future__ import annotations

import subprocess
import sys

from monitor.store.process import is_gone, this_process


def test_this_process_is_not_gone() -> None:
    assert not is_gone(this_process())


def test_an_ended_process_is_gone() -> None:
    ask = "from monitor.store.process import this_process; print(this_process())"
    owner = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()

    assert is_gone(owner)


def test_a_killed_process_that_nobody_has_waited_for_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    host, _, _ = this_process().rsplit(":", 2)
    try:
        assert not is_gone(f"{host}:{child.pid}:")
    finally:
        child.communicate()

    assert is_gone(f"{host}:{child.pid}:")


def test_a_later_process_of_the_same_number_is_another() -> None:
    host, pid, started = this_process().rsplit(":", 2)

    assert is_gone(f"{host}:{pid}:{int(started) - 1}")


def test_a_process_of_another_host_is_never_surely_gone() -> None:
    assert not is_gone("elsewhere.example:999999:1")
