from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.interval import Interval
from monitor.drift.ruler import called, read, size_odds

DISTANCES = {"w8-channel": 0.071, "fp8-e4m3": 0.154, "nf4": 0.46, "w4-g64": 0.61}


def text(shift: float, low: float, high: float, lawful: float = 0.02) -> str:
    return read(shift, Interval(low, high), DISTANCES, lawful=lawful).text


def test_it_says_how_many_times_int8_and_between_which_marks() -> None:
    reading = read(0.11, Interval(0.10, 0.12), DISTANCES, lawful=0.02)
    assert reading.text == ("about 1.5 times what int8 would make (1.4 to 1.7); between what int8 and fp8 would make")
    assert reading.times == pytest.approx(0.11 / 0.071)
    assert reading.interval is not None
    assert reading.interval.low == pytest.approx(0.10 / 0.071)
    assert (reading.low, reading.high) == ("w8-channel", "fp8-e4m3")


def test_marks_within_the_interval_are_not_told_from_the_shift() -> None:
    assert text(0.156, 0.13, 0.18).endswith("not to be told from what fp8 would make")
    assert text(0.11, 0.06, 0.2).endswith("not to be told from what int8 or fp8 would make")


def test_beyond_the_ends_it_names_one_mark() -> None:
    assert text(0.05, 0.045, 0.055).endswith("; less than what int8 would make")
    assert text(0.9, 0.8, 1.0).endswith("; more than what int4 would make")


def test_below_noise_it_gives_no_size() -> None:
    reading = read(0.05, Interval(0.01, 0.09), DISTANCES, lawful=0.02)
    assert reading.text == "below noise: nothing, or up to 1.3 times what int8 would make"
    assert reading.times is None
    assert reading.interval is None


@pytest.mark.parametrize(
    ("shift", "interval"), [(0.1, None), (float("nan"), Interval(0.0, 0.1)), (0.1, Interval(0.05, float("nan")))]
)
def test_what_was_not_measured_has_no_size(shift: float, interval: Interval | None) -> None:
    reading = read(shift, interval, DISTANCES, lawful=0.02)
    assert reading.text == "the size of the shift is not known"
    assert reading.times is None


@settings(max_examples=50, deadline=None)
@given(
    st.floats(0.001, 2.0),
    st.floats(0.0, 0.9),
    st.floats(0.0, 2.0),
    st.floats(0.01, 100.0),
    st.permutations(list(DISTANCES)),
)
def test_neither_the_unit_of_length_nor_the_order_of_marks_matters(
    shift: float, below: float, above: float, scale: float, order: list[str]
) -> None:
    def said(factor: float, names: list[str]) -> str:
        interval = Interval(factor * shift * (1.0 - below), factor * shift * (1.0 + above))
        return read(
            factor * shift, interval, {name: factor * DISTANCES[name] for name in names}, lawful=0.02 * factor
        ).text

    # A power of two keeps every comparison as it is.
    assert said(2.0 ** round(np.log2(scale)), order) == said(1.0, list(DISTANCES))


def test_another_unit_may_be_named_and_has_to_be_a_mark() -> None:
    assert read(0.92, Interval(0.9, 0.95), DISTANCES, lawful=0.02, unit="nf4").text.startswith(
        "about 2.0 times what nf4"
    )
    for distances in ({}, {"nf4": 0.4}, {"w8-channel": 0.0}, {"w8-channel": float("nan")}):
        with pytest.raises(ValueError, match="ruler"):
            read(0.1, Interval(0.05, 0.2), distances, lawful=0.02)


def test_names_that_are_not_known_stay() -> None:
    assert called("w4-g64") == "int4"
    assert called("w3-of-tomorrow") == "w3-of-tomorrow"


@settings(max_examples=50, deadline=None)
@given(st.floats(0.0, 1.5), st.floats(0.001, 0.5))
def test_sizes_speak_for_one_profile_against_another_and_not_for_profiles(shift: float, error: float) -> None:
    odds = size_odds(shift, error, DISTANCES)
    assert np.mean(np.exp(list(odds.values()))) == pytest.approx(1.0)


def test_the_profile_of_that_size_has_the_best_odds_and_none_where_the_error_is_large() -> None:
    for name, distance in DISTANCES.items():
        odds = size_odds(distance, 0.005, DISTANCES)
        assert max(odds, key=odds.__getitem__) == name
    assert max(map(abs, size_odds(0.1, 50.0, DISTANCES).values())) < 0.01


@pytest.mark.parametrize(("shift", "error"), [(float("nan"), 0.1), (0.1, -1.0), (0.1, float("nan"))])
def test_sizes_need_a_measured_shift(shift: float, error: float) -> None:
    with pytest.raises(ValueError, match="sizes"):
        size_odds(shift, error, DISTANCES)
