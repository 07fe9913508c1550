"""When a child is started again: later after every failure, and not at all after too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.service.restarts import LONGEST_DELAY_S, MOST_FAILURES, WINDOW_S, Restarts

pauses = st.lists(st.floats(0.0, 3 * WINDOW_S), max_size=30)


def after(pauses: list[float]) -> tuple[Restarts, float]:
    """A child that ended after each of the pauses, and the time of the last end."""
    restarts, now = Restarts(), 1000.0
    for pause in pauses:
        now += pause
        restarts = restarts.ended(now)
    return restarts, now


def test_a_child_that_never_failed_starts_at_once() -> None:
    assert Restarts().start_at == 0.0
    assert not Restarts().hopeless


@given(pauses)
def test_it_is_hopeless_exactly_after_so_many_failures_within_the_window(pauses: list[float]) -> None:
    restarts, now = after(pauses)
    times, at = [], 1000.0
    for pause in pauses:
        at += pause
        times.append(at)

    assert restarts.hopeless == (sum(now - time < WINDOW_S for time in times) >= MOST_FAILURES)


@given(pauses.filter(bool))
def test_a_delay_is_positive_and_bounded(pauses: list[float]) -> None:
    restarts, now = after(pauses)
    assert 0.0 < restarts.start_at - now <= LONGEST_DELAY_S


def test_each_failure_in_a_row_doubles_the_delay() -> None:
    delays = []
    restarts = Restarts()
    for now in (100.0, 101.0, 102.0):
        restarts = restarts.ended(now)
        delays.append(restarts.start_at - now)
    assert delays == [0.5, 1.0, 2.0]


def test_an_old_failure_is_forgotten() -> None:
    restarts = Restarts().ended(100.0).ended(100.0 + WINDOW_S)
    assert restarts.start_at == 100.0 + WINDOW_S + 0.5
