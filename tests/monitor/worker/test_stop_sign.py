from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from monitor.worker.stop_sign import StopSign

SELECT_LIMIT = 1024


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def many_open_files() -> Iterator[None]:
    """So many that the next one's number is beyond what select() takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * SELECT_LIMIT), max(hard, 2 * SELECT_LIMIT)))
    with ExitStack() as stack:
        while True:
            descriptor = os.open(os.devnull, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            if descriptor > SELECT_LIMIT:
                break
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_once_up_it_stays_up() -> None:
    sign = StopSign()
    before = sign.is_up

    sign.put_up()

    assert (before, sign.is_up, sign.wait(60)) == (False, True, True)


def test_one_who_waits_sees_it_at_once() -> None:
    sign, seen = StopSign(), threading.Event()
    waiting = threading.Thread(target=lambda: seen.set() if sign.wait(3600) else None)
    waiting.start()

    sign.put_up()

    assert seen.wait(60)
    waiting.join(60)


def test_it_is_seen_in_a_process_with_more_open_files_than_select_takes() -> None:
    with many_open_files():
        sign = StopSign()
        before = sign.is_up
        sign.put_up()

        assert (before, sign.is_up) == (False, True)


def test_signs_that_are_gone_leave_no_open_file() -> None:
    before = open_files()

    for _ in range(50):
        StopSign()

    assert open_files() == before
