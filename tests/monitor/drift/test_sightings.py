from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.discriminating import Kind, chances
from monitor.drift.features import ENDS, STATES, TIERS, Feature
from monitor.drift.sightings import Sighting


def test_every_feature_has_states_tiers_and_words_of_its_own() -> None:
    assert set(STATES) == set(TIERS) == set(Feature)
    words = [said for states in STATES.values() for said in states.values()]
    assert len(set(words)) == len(words)
    for feature, ends in ENDS.items():
        assert len(ends) + 1 == len(STATES[feature])
        assert list(ends) == sorted(ends)


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("feature", list(Feature))
def test_chances_of_every_cause_add_up_and_exclude_nothing(kind: Kind, feature: Feature) -> None:
    row = chances(kind, feature)
    assert len(row) == len(STATES[feature])
    assert sum(row) == pytest.approx(1.0)
    assert min(row) >= 0.01


def test_every_cause_leaves_some_trace_and_no_two_leave_the_same() -> None:
    rows = {kind: np.concatenate([chances(kind, feature) for feature in Feature]) for kind in Kind}
    for one in Kind:
        for other in Kind:
            assert one is other or np.abs(rows[one] - rows[other]).max() > 0.2, (one, other)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(list(ENDS)), st.floats(-5.0, 60.0), st.floats(1e-6, 100.0))
def test_chances_of_sizes_are_those_of_a_normal_value(feature: Feature, value: float, error: float) -> None:
    logs = np.array(Sighting.sized(feature, value, error).logs)
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-6)
    inside = np.searchsorted(ENDS[feature], value)
    far = min(abs(np.array(ENDS[feature]) - value)) > 4.0 * error
    assert not far or logs.argmax() == inside


def test_a_size_without_precision_says_nothing_of_where_it_lies() -> None:
    logs = np.exp(Sighting.sized(Feature.GREEDY, 2.0, 1e4).logs)
    assert logs[0] == pytest.approx(0.5, abs=0.01)
    assert logs[-1] == pytest.approx(0.5, abs=0.01)


def test_an_e_value_of_one_says_nothing_and_is_not_taken_for_same() -> None:
    assert not Sighting.tested(Feature.TOOL_FORM, 1.0).says
    assert Sighting.tested(Feature.TOOL_FORM, 50.0).state == "moved"
    assert Sighting.tested(Feature.TOOL_FORM, 0.02).state == "same"
    assert np.isfinite(Sighting.tested(Feature.TOOL_FORM, 0.0).logs).all()


def test_states_that_were_not_looked_for_are_left_as_likely_as_the_others_on_average() -> None:
    seen = Sighting.of(Feature.SAMPLER, {"as-asked": 0.0, "temperature": 8.0})
    weights = dict(zip(STATES[Feature.SAMPLER], np.exp(seen.logs), strict=True))
    looked_for = np.mean([weights["as-asked"], weights["temperature"]])
    assert weights["top-p"] == pytest.approx(looked_for)
    assert seen.state == "temperature"


def test_a_state_that_was_seen_is_the_likeliest() -> None:
    seen = Sighting.certain(Feature.COUNTS, "varying")
    assert seen.state == "varying"
    assert seen.words == STATES[Feature.COUNTS]["varying"]
    assert np.exp(seen.logs).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Sighting(Feature.COUNTS, (0.0, 1.0)),
        lambda: Sighting(Feature.PIECES, (0.0, float("nan"))),
        lambda: Sighting.of(Feature.COUNTS, {}),
        lambda: Sighting.of(Feature.COUNTS, {"sideways": 0.0}),
        lambda: Sighting.certain(Feature.COUNTS, "sideways"),
        lambda: Sighting.certain(Feature.COUNTS, "same", 1.0),
        lambda: Sighting.certain(Feature.PIECES, "same", 0.3),
        lambda: Sighting.sized(Feature.COUNTS, 1.0, 1.0),
        lambda: Sighting.sized(Feature.GREEDY, 1.0, 0.0),
        lambda: Sighting.sized(Feature.GREEDY, float("nan"), 1.0),
        lambda: Sighting.tested(Feature.COUNTS, 2.0),
        lambda: Sighting.tested(Feature.PIECES, -1.0),
    ],
)
def test_what_is_no_sighting_is_refused(made: object) -> None:
    with pytest.raises(ValueError, match=r"states|finite|sizes|e-value"):
        made()  # type: ignore[operator]
