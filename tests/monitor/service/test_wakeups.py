"""A service that is told to stop before it has begun."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from monitor.service.wakeups import leave_if_asked, starting


class Freed:
    """Is told to stop while it is freed."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)


def stopped(free: bool) -> None:
    with starting():
        if free:
            Freed()
            with pytest.raises(SystemExit):
                leave_if_asked()
        else:
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("it goes on")


def test_a_stop_ends_what_begins() -> None:
    with pytest.raises(SystemExit):
        stopped(free=False)


def test_a_stop_that_python_drops_ends_it_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: dropped.append(what.exc_type))

    with pytest.raises(SystemExit):
        stopped(free=True)

    assert dropped == [SystemExit]


def test_handlers_are_as_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]

    with starting():
        pass

    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before
