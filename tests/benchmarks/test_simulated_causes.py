"""Short forms of the simulated parts `likelihoods` and `causes`."""

from __future__ import annotations

import numpy as np

from benchmarks.simulated.__main__ import PARTS
from benchmarks.simulated.causes import INJECTED, attributed, cause_figures, confusion, right
from benchmarks.simulated.likelihoods import LAWFUL, OUTSIDE, Model, delays, figures
from monitor.drift.attribution import NONE
from monitor.drift.lawful_replays import counts_toward_alarms


def test_nine_of_ten_injected_causes_are_ranked_first_where_all_tiers_and_the_engine_speak() -> None:
    found = confusion(20)
    assert set(found) == set(INJECTED)
    assert np.mean([found[cause][cause] / 20 for cause in INJECTED]) >= 0.9


def test_missing_tiers_make_it_worse_and_no_cause_out_of_nothing() -> None:
    def correct(missing: float) -> float:
        found = confusion(10, missing=missing, engine=False)
        return float(np.mean([found[cause][cause] / 10 for cause in INJECTED]))

    assert correct(0.0) > correct(0.7)
    blind = attributed(np.random.default_rng(0), "swap", missing=1.0, engine=False)
    weights = {one.cause.name: one.cause.weight for one in blind.ranked}
    assert max(weights.values()) == weights[NONE.name]
    assert weights[NONE.name] < 0.1


def test_another_profile_of_the_same_kind_is_not_right() -> None:
    rng = np.random.default_rng(1)
    found = next(one for one in iter(lambda: attributed(rng, "int4"), None) if right("int4", one))
    assert found.best.cause.name == "w4-g64"
    assert not right("int8", found)
    assert not right("template", found)


def test_figures_say_that_they_are_simulated_and_hold_every_row() -> None:
    rows = list(cause_figures(2))
    assert all(one.what.startswith("simulated, ") for one in rows)
    assert len(rows) == 3 * (len(INJECTED) + 1)
    assert [one.most for one in rows if one.goal == "G11"] == [0.1, None, None]
    assert {"likelihoods", "causes"} <= set(PARTS)


def test_a_ratio_counts_on_lawful_noise_of_its_cloud_and_not_on_noise_nearer_to_a_candidate() -> None:
    rng = np.random.default_rng(0)
    model = Model.of(rng, 300)
    lawful = {kind: model.paths(rng, drawn_by, 500, 300) for kind, drawn_by in LAWFUL.items()}
    assert counts_toward_alarms(lawful, alpha=0.05).counts
    long = Model.of(rng, 5_000)
    outside = {"nearer": long.paths(rng, OUTSIDE["noise two thirds of the way to int8"], 20, 5_000)}
    found = counts_toward_alarms(lawful | outside, alpha=0.05)
    assert not found.counts
    assert found.mean > 2.0


def test_lawful_figures_have_goals_and_those_outside_are_told() -> None:
    rows = list(figures(20, tokens=50))
    judged = [one.what for one in rows if one.most is not None and one.unit == ""]
    assert len(judged) == 2 * len(LAWFUL)
    assert not any(kind in what for kind in OUTSIDE for what in judged)


def test_every_candidate_is_proven_within_twice_the_bound() -> None:
    rows = list(delays(5, seed=1))
    assert len(rows) == 3
    assert not [one.what for one in rows if one.missed]
