"""The latency probe: its streams, its times, and the percentiles of them."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.completion import Timings
from probes.latency import (
    Percentile,
    is_buffered,
    percentile_interval,
    plan,
    tpot,
)
from probes.plan import ProbeKind

SEED = bytes(range(32))


def timings(*chunks: float, first_tokens: int | None = None) -> Timings:
    return Timings(
        headers=0.01,
        first_event=0.02,
        first_role=0.02,
        first_output=chunks[0] if chunks else None,
        last_output=chunks[-1] if chunks else None,
        chunks=chunks,
        first_output_tokens=first_tokens,
    )


STEADY = tuple(0.5 + 0.1 * index for index in range(11))


def test_streams_are_single_use_and_ask_for_usage() -> None:
    made = plan(SEED, b"run", streams=8, max_tokens=32)

    assert made.probe is ProbeKind.LATENCY
    assert len({item.key for item in made.items}) == 8
    assert not any(item.anchor for item in made.items)
    for item in made.items:
        assert {name: value for name, value in item.request.items() if name != "messages"} == {
            "max_tokens": 32,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    other = plan(SEED, b"another run", streams=8, max_tokens=32)
    assert not {item.key for item in made.items} & {item.key for item in other.items}
    assert made.suite_sha256 == other.suite_sha256 != plan(SEED, b"run", max_tokens=64).suite_sha256


def test_the_time_of_a_token_goes_by_usage_and_not_by_chunks() -> None:
    assert tpot(timings(*STEADY), 11) == pytest.approx(0.1)
    assert tpot(timings(*STEADY), 41) == pytest.approx(1.0 / 40)
    assert tpot(timings(*STEADY, first_tokens=6), 16) == pytest.approx(0.1)


def test_a_time_that_cannot_be_known_is_none() -> None:
    assert tpot(timings(*STEADY), None) is None
    assert tpot(timings(*STEADY), 1) is None
    assert tpot(timings(*STEADY, first_tokens=11), 11) is None
    assert tpot(timings(), 11) is None
    assert tpot(timings(2.0), 11) is None


BURST = tuple(3.0 + 0.0001 * index for index in range(32))


@pytest.mark.parametrize(
    ("chunks", "buffered"),
    [
        ((), True),
        ((2.0,), True),
        ((2.0,) * 32, True),
        (BURST, True),
        ((1.0, *BURST), True),
        (STEADY, False),
        ((1.0, 1.0), True),
        ((1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0), True),
        ((1.0, 2.0), False),
        # A thousand tokens a second after ten seconds in a queue.
        (tuple(10.0 + 0.001 * index for index in range(32)), False),
        # Half at once, half steadily.
        ((*BURST, *(3.1 + 0.1 * index for index in range(32))), False),
    ],
)
def test_output_that_came_at_once_is_buffered(chunks: tuple[float, ...], buffered: bool) -> None:
    assert is_buffered(timings(*chunks)) is buffered
    if buffered:
        assert tpot(timings(*chunks), 40) is None


def numbers(n: int) -> list[float]:
    return [float(value) for value in range(1, n + 1)]


@pytest.mark.parametrize(("q", "needed"), [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299)])
def test_an_upper_bound_needs_so_many_values(q: float, needed: int) -> None:
    assert percentile_interval(numbers(needed - 1), q).hi is None
    assert percentile_interval(numbers(needed), q).hi == float(needed)


@pytest.mark.parametrize(("q", "needed"), [(0.5, 2), (0.9, 10), (0.95, 20), (0.99, 100)])
def test_an_estimate_needs_one_value_expected_beyond_it(q: float, needed: int) -> None:
    assert percentile_interval(numbers(needed - 1), q).estimate is None
    assert percentile_interval(numbers(needed), q).estimate is not None


def test_few_values_bound_little() -> None:
    assert percentile_interval([], 0.5) == Percentile(None, None, None)
    assert percentile_interval([1.0], 0.5) == Percentile(None, None, None)
    assert percentile_interval(numbers(8), 0.5) == Percentile(4.0, 2.0, 7.0)
    assert percentile_interval(numbers(8), 0.95) == Percentile(None, 6.0, None)


def tail(n: int, q: float, least: int) -> float:
    """P(Bin(n, q) ≥ least), by the definition."""
    return math.fsum(math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(least, n + 1))


@given(st.integers(1, 120), st.sampled_from([0.1, 0.5, 0.9, 0.95, 0.99]), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_bounds_are_the_tightest_order_statistics_that_hold(n: int, q: float, confidence: float) -> None:
    _, lo, hi = percentile_interval(numbers(n), q, confidence)
    low = int(lo) if lo is not None else 0
    high = int(hi) if hi is not None else n + 1

    if low:
        assert tail(n, q, low) >= confidence - 1e-9
    assert tail(n, q, low + 1) <= confidence + 1e-9
    if high <= n:
        assert 1 - tail(n, q, high) >= confidence - 1e-9
    assert 1 - tail(n, q, high - 1) <= confidence + 1e-9


@given(st.lists(st.floats(0, 100), max_size=150), st.floats(0.01, 0.99))
def test_bounds_surround_the_estimate_and_do_not_depend_on_the_order(values: list[float], q: float) -> None:
    found = percentile_interval(values, q)
    random.Random(1).shuffle(values)

    assert percentile_interval(values, q) == found
    if found.estimate is not None:
        assert found.lo is None or found.lo <= found.estimate
        assert found.hi is None or found.hi >= found.estimate
