from __future__ import annotations

import pytest

from monitor.drift.accounting import CountTest
from monitor.drift.features import Feature
from monitor.drift.interval import Interval
from monitor.drift.run_sightings import of_counts, of_shift
from monitor.drift.shift import ShiftTest


def counts(moved: int | None, p: float | None, *, offset: int | None = 0, constant: bool = True) -> CountTest:
    return CountTest(offset, offset, offset, constant, moved, p, 40)


@pytest.mark.parametrize(
    ("test", "state"),
    [
        (counts(0, 0.4), "same"),
        (counts(7, 1e-5, offset=7), "more"),
        (counts(-3, 1e-5, offset=-3), "fewer"),
        (counts(2, 1e-5, offset=2, constant=False), "varying"),
        (counts(0, 1e-5, offset=0, constant=False), "varying"),
    ],
)
def test_counts_are_the_same_or_moved_by_a_constant_or_otherwise(test: CountTest, state: str) -> None:
    seen = of_counts(test)
    assert seen is not None
    assert (seen.feature, seen.state) == (Feature.COUNTS, state)


def test_counts_that_are_not_known_are_no_sighting() -> None:
    assert of_counts(None) is None
    assert of_counts(counts(None, None)) is None
    assert of_counts(counts(3, None)) is None


def test_without_a_tokenizer_a_constant_is_not_told_from_other_moves() -> None:
    seen = of_counts(counts(4, 1e-5, offset=None, constant=False))
    assert seen is not None
    same, fewer, more, varying, _ = seen.logs
    assert more == varying
    assert max(same, fewer) < more - 10.0


@pytest.mark.parametrize(
    ("shift", "state"), [(0.0, "same"), (0.04, "slight"), (0.1, "moderate"), (0.5, "large"), (2.0, "huge")]
)
def test_shifts_are_sized_by_what_int8_would_make(shift: float, state: str) -> None:
    seen = of_shift(ShiftTest(1e-5, 9.0, shift, Interval(shift - 0.005, shift + 0.005), 0.03, 40), 0.071)
    assert seen is not None
    assert seen.state == state
    assert seen.says


def test_a_shift_that_was_not_measured_is_no_sighting() -> None:
    assert of_shift(None, 0.071) is None
    assert of_shift(ShiftTest(1e-5, 9.0, 0.1, None, 0.03, 40), 0.071) is None
    assert of_shift(ShiftTest(1e-5, 9.0, float("nan"), Interval(0.0, 1.0), 0.03, 40), 0.071) is None
    with pytest.raises(ValueError, match="int8"):
        of_shift(None, 0.0)
