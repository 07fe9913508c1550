from __future__ import annotations

import numpy as np
import pytest

from monitor.drift.accounting import CountTest
from monitor.drift.evidence import Combining, Evidence, Factors, Inapplicable, Null, StreamKey, Tier
from monitor.drift.features import Feature
from monitor.drift.findings import Finding
from monitor.drift.greedy import as_observation
from monitor.drift.interval import Interval
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict
from monitor.drift.run_sightings import (
    of_counts,
    of_draws,
    of_greedy,
    of_move,
    of_repeats,
    of_shift,
    of_stack,
    of_test,
)
from monitor.drift.sampler import ALTERNATIVES
from monitor.drift.shift import ShiftTest
from monitor.drift.sightings import Sighting


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


def test_counts_that_may_have_moved_are_not_the_same() -> None:
    assert of_counts(counts(9, 0.2)) is None
    suspected = of_counts(counts(9, 0.005, offset=9))
    assert suspected is not None
    assert suspected.state == "more"


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


def answer(key: str, value: float, *, anchor: bool = True) -> Observation:
    return Observation(key, 0, anchor, (b"a",), np.array([value]), None, (), {}, None, None, None)


def read_as(*margins: float) -> Observation:
    return as_observation("greedy-0", np.array(margins), np.ones(len(margins)), 12, 12)


@pytest.mark.parametrize(
    ("now", "before", "state"),
    [
        ([0.1, 0.1], [0.1, 0.2], "none"),
        ([0.1, 0.2], [0.1, 0.2], "same"),
        # Of an endpoint that always answers alike, that it does is no news.
        ([0.1, 0.1], [0.1, 0.1], None),
        ([0.1], [0.1, 0.2], None),
    ],
)
def test_repeats_that_differ_no_more_are_seen(now: list[float], before: list[float], state: str | None) -> None:
    keys = ("a", "b", "c")
    seen = of_repeats(*([answer(key, value) for key in keys for value in side] for side in (now, before)))

    assert (None if seen is None else seen.state) == state


def test_draws_tell_of_the_sampler_by_the_alternative_that_wins() -> None:
    key = StreamKey("e", Tier.SAMPLING, "draws")
    winning = next(place for place, one in enumerate(ALTERNATIVES) if one.name.startswith("top_p"))
    factors = [0.5] * len(ALTERNATIVES)
    factors[winning] = 1e5
    draws = Evidence(key, 0.0, Factors(tuple(factors), Null.STATED, Combining.EACH))
    copies = Evidence(key._replace(probe_set="copies"), 0.0, Factors((1e4,), Null.STATED, Combining.EACH))
    wider = Evidence(key._replace(probe_set="draws/wider"), 0.0, Inapplicable("none"))

    assert {one.feature: one.state for one in of_draws([draws, copies, wider])} == {
        Feature.SAMPLER: "top-p",
        Feature.COLLISIONS: "more",
    }


def test_greedy_tokens_are_seen_beside_those_of_the_baseline() -> None:
    own, other = read_as(*[0.0] * 400), read_as(*[0.0, 0.3] * 200)
    few = read_as(*[0.0] * 388, *[0.3] * 12)

    states = [seen.state for seen in (of_greedy([one], [own]) for one in (own, few, other)) if seen is not None]
    assert states == ["same", "few", "many"]
    assert of_greedy([own], []) is None


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (of_test(Feature.TRIGGERS, Finding(Verdict.DRIFT, adjusted_p=1e-8)), "moved"),
        (of_test(Feature.TRIGGERS, Finding(Verdict.OK, adjusted_p=1.0)), "same"),
        (of_test(Feature.TRIGGERS, Finding(Verdict.INCONCLUSIVE)), None),
        (of_test(Feature.TRIGGERS, None), None),
        (of_stack(Finding(Verdict.DRIFT)), "moved"),
        (of_stack(Finding(Verdict.OK)), "same"),
        (of_stack(Finding(Verdict.INCONCLUSIVE)), None),
        (of_move(Finding(Verdict.DRIFT, value=0.45, interval=Interval(0.4, 0.5, 0.95), target=0.07)), "large"),
        (of_move(Finding(Verdict.OK, value=0.0, interval=Interval(0.0, 0.01, 0.95), target=0.07)), "same"),
        (of_move(Finding(Verdict.OK, value=0.1, target=0.07)), None),
    ],
)
def test_what_was_tested_is_seen_and_what_was_not_is_not_called_the_same(
    seen: Sighting | None, state: str | None
) -> None:
    assert (None if seen is None else seen.state) == state
