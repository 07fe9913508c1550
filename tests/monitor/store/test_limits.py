from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.store import EndpointRecord, Limits, Queue, Store, limits
from tests.monitor.store.material import AT, later, spent
from tests.monitor.store.queued import enqueued

TODAY = AT.date()
numbers = count()


@pytest.fixture
def rates(store: Store) -> Limits:
    return Limits(store.sessions)


def take(rates: Limits, wanted: float = 1, seconds: float = 0.0, name: str = "acme") -> float:
    return rates.take_tokens(name, wanted, per_minute=60, burst=5, at=AT + timedelta(seconds=seconds))


def test_a_new_bucket_is_full_and_tells_how_long_to_wait_once_it_is_empty(rates: Limits) -> None:
    assert [take(rates) for _ in range(5)] == [0.0] * 5
    assert take(rates, 2) == pytest.approx(2.0)
    assert take(rates, 2, seconds=1.5) == pytest.approx(0.5)
    assert take(rates, 2, seconds=2.0) == 0.0
    assert take(rates, name="other") == 0.0


def test_a_bucket_fills_to_its_burst_and_no_further(rates: Limits) -> None:
    take(rates, 5)

    assert take(rates, 5, seconds=3600) == 0.0
    assert take(rates, 1, seconds=3600) == pytest.approx(1.0)


def test_a_host_whose_clock_is_behind_gets_nothing_extra(rates: Limits) -> None:
    take(rates, 5, seconds=10)

    assert take(rates, 1, seconds=0) == pytest.approx(1.0)
    assert take(rates, 1, seconds=10) == pytest.approx(1.0)


def test_a_clock_that_was_set_back_does_not_dry_the_bucket_up(rates: Limits) -> None:
    take(rates, 5, seconds=3600)

    assert take(rates, 1, seconds=0) == pytest.approx(1.0)
    assert take(rates, 1, seconds=1) == 0.0


def test_more_than_a_bucket_can_hold_is_refused(rates: Limits) -> None:
    with pytest.raises(ValueError, match="6 tokens of a bucket of 5"):
        take(rates, 6)


@pytest.fixture
def checks(store: Store, endpoint: EndpointRecord) -> list[str]:
    return [enqueued(store, endpoint.id, f"slot-{number}").id for number in range(3)]


def reserve(store: Store, check_id: str, microusd: int, budget: int | None, provider: str = "acme") -> int | None:
    with store.sessions.write() as session:
        return limits.reserve(session, check_id, provider, TODAY, microusd, budget)


def settle(store: Store, check_id: str, microusd: int) -> None:
    with store.sessions.write() as session:
        limits.settle(session, check_id, microusd)


def test_what_is_left_of_a_day_is_granted_and_then_nothing(store: Store, checks: list[str]) -> None:
    assert reserve(store, checks[0], 70, 100) == 70
    assert reserve(store, checks[1], 70, 100) == 30
    assert reserve(store, checks[2], 70, 100) is None
    assert reserve(store, checks[2], 70, 100, "other") == 70


def test_what_was_not_spent_is_free_again(store: Store, checks: list[str]) -> None:
    reserve(store, checks[0], 70, 100)

    settle(store, checks[0], 20)
    settle(store, checks[0], 20)

    assert spent(store, "acme", TODAY) == (20, 0)
    assert reserve(store, checks[1], 100, 100) == 80


def test_a_check_keeps_the_reservation_of_its_earlier_attempt(store: Store, checks: list[str]) -> None:
    reserve(store, checks[0], 70, 100)

    assert reserve(store, checks[0], 90, 100) == 70
    assert spent(store, "acme", TODAY) == (0, 70)


def test_without_a_budget_everything_is_granted_and_counted(store: Store, checks: list[str]) -> None:
    assert reserve(store, checks[0], 10**12, None) == 10**12
    assert spent(store, "acme", TODAY) == (0, 10**12)
    assert spent(store, "acme", later(24 * 60).date()) == (0, 0)


def test_what_is_spent_without_a_reservation_counts_as_well(store: Store, checks: list[str]) -> None:
    for _ in range(2):
        with store.sessions.write() as session:
            limits.spend(session, "acme", TODAY, 30)

    assert spent(store, "acme", TODAY) == (60, 0)
    assert reserve(store, checks[0], 70, 100) == 40


def test_a_check_that_ended_without_a_word_is_charged_in_full(store: Store, checks: list[str]) -> None:
    queue = Queue(store.sessions)
    reserve(store, checks[0], 70, 100)
    queue.sweep(AT)
    assert spent(store, "acme", TODAY) == (0, 70)

    queue.cancel(checks[0], AT)
    queue.sweep(AT)

    assert spent(store, "acme", TODAY) == (70, 0)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limits]:
    with Store.open(tmp_path_factory.mktemp("buckets") / "monitor.db", at=AT) as store:
        yield Limits(store.sessions)


@given(st.lists(st.tuples(st.integers(-90, 90), st.integers(1, 5)), min_size=1, max_size=30))
@settings(max_examples=50)
def test_a_bucket_never_grants_more_than_its_burst_and_what_flowed_in(
    shared: Limits, asked: list[tuple[int, int]]
) -> None:
    """Whatever the clock does, as long as it is not set back by more than hosts differ."""
    bucket = f"bucket {next(numbers)}"
    times = [0]
    granted = 0
    for seconds, wanted in asked:
        times.append(max(times[-1] + seconds, max(times) - 59))
        if take(shared, wanted, seconds=times[-1], name=bucket) == 0.0:
            granted += wanted

    assert granted <= 5 + max(times) - min(times) + 1e-6
