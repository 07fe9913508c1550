"""When a run stops."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from probes.failure import Failure, FailureKind
from probes.plan import Attempt, Item, Sample
from probes.standing import Standing, outcome_of


def failure(kind: FailureKind) -> Failure:
    return Failure(kind, f"{kind} happened.", "Do something.")


def sample(status: int | None, attempts: int = 1) -> Sample:
    attempt = Attempt(status, {}, b"", datetime(2026, 1, 1, tzinfo=UTC), 0.1)
    return Sample(Item("a", 0, {}), outcome_of(None), None, (attempt,) * attempts)


def succeed(standing: Standing, count: int) -> None:
    for _ in range(count):
        assert standing.add(sample(200), None) is None


@pytest.mark.parametrize(
    "kind", sorted(set(FailureKind) - {FailureKind.SERVER, FailureKind.RESET, FailureKind.REJECTED})
)
def test_before_any_success_what_says_it_all_stops_at_once(kind: FailureKind) -> None:
    assert Standing().add(sample(None), failure(kind)) == failure(kind)


@pytest.mark.parametrize("kind", [FailureKind.SERVER, FailureKind.RESET, FailureKind.REJECTED])
def test_before_any_success_what_may_befall_one_request_stops_at_the_third(kind: FailureKind) -> None:
    standing = Standing()

    assert [standing.add(sample(500), failure(kind)) for _ in range(3)] == [None, None, failure(kind)]


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.QUOTA])
def test_a_lost_key_or_credit_stops_a_run_that_went_well(kind: FailureKind) -> None:
    standing = Standing()
    succeed(standing, 30)

    assert standing.add(sample(401), failure(kind)) == failure(kind)


def test_half_of_the_last_ten_failing_stops_a_run() -> None:
    standing = Standing()
    succeed(standing, 10)
    stops = [standing.add(sample(500), failure(FailureKind.SERVER)) for _ in range(5)]

    assert stops[:4] == [None] * 4
    assert stops[4] is not None
    assert stops[4].message == "5 of the last 10 requests failed; the run stopped early. server happened."


def test_a_steady_third_failing_does_not_stop_a_run() -> None:
    standing = Standing()
    for _ in range(30):
        succeed(standing, 2)
        assert standing.add(sample(500), failure(FailureKind.SERVER)) is None


def test_429_stops_a_run_only_above_a_fifth_and_after_retries() -> None:
    standing = Standing()
    succeed(standing, 36)
    stops = [standing.add(sample(429, attempts=3), failure(FailureKind.RATE_LIMITED)) for _ in range(4)]

    # 3 of 39, 6 of 42, 9 of 45 (a fifth exactly), 12 of 48.
    assert stops[:3] == [None] * 3
    assert stops[3] is not None
    assert stops[3].kind is FailureKind.RATE_LIMITED


def test_a_run_in_which_nothing_succeeded_fails_in_the_end() -> None:
    standing = Standing()
    standing.add(sample(500), failure(FailureKind.SERVER))

    assert standing.conclude() == failure(FailureKind.SERVER)
    succeed(standing, 1)
    assert standing.conclude() is None
    assert Standing().conclude() is None
