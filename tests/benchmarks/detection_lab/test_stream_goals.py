"""G1, G3, G8, G9, G10, G11 and G13 in their fast forms: on made-up lists whose changes are known, with fixed seeds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.detection_lab import headline, incident, seen
from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.first_tokens import FirstTokenStore
from benchmarks.detection_lab.goals import g1, g3, g5, g6, g8, g9, g10, g11, g13
from benchmarks.detection_lab.goals.figure import Figure, Lab, of_simulated, share
from benchmarks.detection_lab.hourly import PROMPTS, Proof, Rounds
from benchmarks.detection_lab.lawful import Lawful
from benchmarks.detection_lab.texts import Texts, TextStore
from benchmarks.detection_lab.union import Union
from benchmarks.simulated.causes import INJECTED
from benchmarks.simulated.figure import Figure as Simulated
from monitor.drift.accounting import CountTest
from monitor.drift.features import Feature
from monitor.drift.rule import Verdict
from tests.benchmarks.detection_lab.kept_lists import keep, lists, others
from tests.benchmarks.detection_lab.test_g6 import made_up

INT8 = 0.09
SHIFTS = {"w8-channel": INT8, "fp8-e4m3": 0.2, "nf4": 0.6, "w4-g64": 0.8, "template": 0.5, "system-prompt": 0.5}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Quick, and with the fewest endpoints and epochs that show anything."""
    for module, name, value in (
        *((g1, name, value) for name, value in (("QUICK_ENDPOINTS", 2), ("QUICK_NULL_EPOCHS", 20), ("QUICK_SETS", 1))),
        (g1, "CHANGED", ("w8-channel", "template", "anew")),
        *((g3, name, value) for name, value in (("QUICK_ENDPOINTS", 5), ("QUICK_NULL_EPOCHS", 20))),
        (g9, "QUICK_LIST_EPOCHS", 20),
        (g9, "QUICK_REPEATS", 2),
    ):
        monkeypatch.setattr(module, name, value)
    made = Lab(FirstTokenStore(tmp_path), TextStore(tmp_path), quick=True)
    keep(made, "fp32", lists(g3.PROMPTS))
    for name, shift in SHIFTS.items():
        keep(made, name, lists(g3.PROMPTS, shift))
    for name in ("anew", "without-4-layers"):
        keep(made, name, others(g3.PROMPTS))
    return made


def by_name(figures: list[Figure]) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures}


def missed(figures: list[Figure]) -> list[str]:
    return [figure.name for figure in figures if not figure.met]


def test_shares_may_be_two_standard_errors_beyond_their_goal() -> None:
    assert share("x", np.arange(100) < 2, 0.01).met
    assert not share("x", np.arange(100) < 4, 0.01).met
    (kept,) = of_simulated([Simulated("told", 3.0, "rounds", 2.0, "G9")])
    assert (kept.name, kept.met) == ("told rounds", False)


def test_g1_changes_are_proven_within_their_rounds_and_nothing_else_is(lab: Lab) -> None:
    figures = g1.measure(lab)
    barred = [figure for figure in figures if figure.most in g1.BARS.values()]
    assert len(barred) == 2 * len(g1.CHANGED)
    assert missed(figures) == []


def test_g1_lengths_prove_int8_sooner_than_means(lab: Lab) -> None:
    for noise in g1.BARS:
        lengths, means = (
            g1.median(g1.delays(lab, ("w8-channel",), g1.with_days(noise), 3, rounds)["w8-channel"])
            for rounds in (g1.LENGTHS, g1.MEANS)
        )
        assert lengths < means


def test_g1_misses_a_change_that_is_none(lab: Lab) -> None:
    keep(lab, "w8-channel", lists(g3.PROMPTS))
    assert g1.median(g1.delays(lab, ("w8-channel",), g1.with_days(0.03), 3)["w8-channel"]) == np.inf


def test_g3_another_model_is_proven_and_nothing_else_is(lab: Lab) -> None:
    figures = by_name(g3.measure(lab))
    assert all(figure.met for name, figure in figures.items() if name.startswith("unchanged"))
    queries = [figures[f"{part:.0%} of the queries to anew: median queries (5 endpoints)"] for part in g3.BARS]
    assert [figure.most for figure in queries] == [150.0, 300.0, 1_100.0]
    assert queries[0].met
    assert queries[0].value < queries[1].value < queries[2].value
    assert figures["100% of the queries to anew, every query a round: median queries"].value < queries[0].value


def test_g8_worse_calls_are_proven_and_lawful_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    for one in g8.CHANGES[:2]:
        found = list(g8.of_change(one, 100, rng))
        assert found[0].most == one.most
        # No test that knew the change would need much fewer.
        assert found[0].value >= found[2].value * 0.8
    assert missed(list(g8.of_change(g8.CHANGES[1], 100, rng))) == []
    assert missed([*g8.alarms(1_000, rng), *g8.parser()]) == []


def test_g8_counts_from_the_change_and_finds_no_change_where_there_is_none() -> None:
    rng = np.random.default_rng(1)
    assert np.isinf(g8.delays(g8.Worse(0.02, 0.02), np.full(40, 0.02), rng)).all()
    assert np.median(g8.delays(g8.Worse(0.02, 0.9), np.full(10, 0.02), rng)) == 100.0


def test_g9_nulls_keep_their_level(lab: Lab) -> None:
    found = list(g9.figures(lab, 150, endpoints=60))
    assert missed(found) == []
    assert [figure.most is not None for figure in found] == [True] * len(found)


def test_g10_changes_are_dated(lab: Lab) -> None:
    figures = g10.measure(lab)
    assert [figure.most for figure in figures] == [2.0, 12.0] * 2 + [2.0]
    assert missed(figures) == []
    (never,) = g10.of_proofs("none", [Proof(np.inf, np.nan)], 12.0)
    assert not never.met


def texts(share_of: float) -> Texts:
    margins = np.where(np.arange(600).reshape(10, 1, 60) % 100 < 100 * share_of, 0.5, 0.0)
    ids = np.zeros(margins.shape, dtype=np.int32)
    return Texts(ids, -1.0 - margins, ids, margins, np.full(margins.shape, 2.0))


def counts(moved: int) -> CountTest:
    return CountTest(moved, moved, moved, True, moved, 1e-4 if moved else 1.0, 8)


@pytest.fixture
def injecting(lab: Lab) -> g11.Injecting:
    """What the lab would compute with the model; greedy answers, counts and distributions are made up."""
    made = seen.Lists.of(lab.first, (*g11.PROFILES, g11.TEMPLATE, g11.STACKS["swap"]), g11.PROMPTS)
    shares = {"fp32": 0.0, "template": 0.15, "w8-channel": 0.02, "w4-g64": 0.13, "anew": 0.9}
    return g11.Injecting(
        made,
        {name: texts(one) for name, one in shares.items()},
        {name: counts(-2 if name == "template" else 0) for name in shares},
        np.stack([made_up(seed) for seed in range(g6.PROMPTS)]),
        {name: distance for name, distance in made.distances().items() if name in g11.PROFILES},
        0.006,
    )


@pytest.mark.parametrize("cause", list(INJECTED))
def test_g11_most_of_each_cause_is_taken_for_it(injecting: g11.Injecting, cause: str) -> None:
    rng = np.random.default_rng(7)
    found = Counter(g11.name_of(cause, injecting.attributed(cause, rng)) for _ in range(4))
    assert found[cause] >= 3


def test_g11_what_the_tiers_see_is_told_by_kind(injecting: g11.Injecting) -> None:
    rng = np.random.default_rng(8)
    drawn = injecting.drawn
    assert [one.state for one in seen.sampled(seen.copies_of(drawn, 100, rng))] == ["more"]
    colder = np.stack([g6.temperature(each, 0.7) for each in drawn])
    copies, sampler = seen.sampled(seen.draws_of(colder, drawn, 200, rng))
    assert (copies.feature, sampler.state) == (Feature.COLLISIONS, "temperature")
    now = injecting.lists.observed(injecting.lists.unchanged, Lawful(0.03), rng, 2)
    assert seen.repeats(now).state == "same"
    assert seen.repeats(now[::2] * 2).state == "none"
    gains = seen.gains(now, g11.PROFILES)
    assert max(gains.values()) < 0.0
    int8 = injecting.lists.observed(injecting.lists.candidates["w8-channel"], Lawful(0.03), rng, 2)
    gains = seen.gains(int8, g11.PROFILES)
    assert max(gains, key=lambda name: gains[name]) == "w8-channel"


@pytest.mark.model
def test_g11_a_template_without_line_breaks_counts_fewer_tokens() -> None:
    fewer, same = (seen.counted(change, 8) for change in (CHANGES["template"], UNCHANGED))
    assert fewer is not None
    assert fewer.constant
    assert fewer.moved is not None
    assert fewer.moved < 0
    assert same is not None
    assert same.moved == 0


def test_g13_what_cannot_be_judged_is_inapplicable_and_never_ok(lab: Lab) -> None:
    for name, judged in g13.CASES.items():
        verdicts = judged(lab)
        assert verdicts
        assert set(verdicts) == {Verdict.INAPPLICABLE}, name
    good, bad = list(g13.of_case("x", [Verdict.INAPPLICABLE])), list(g13.of_case("x", [Verdict.OK]))
    assert (missed(good), len(missed(bad))) == ([], 2)


def test_g13_an_incident_is_computed_anew_bit_for_bit(lab: Lab) -> None:
    figures = by_name(g13.kept_incident(lab))
    assert missed(list(figures.values())) == []
    assert figures["stored incident of int8: rounds to drift"].value > 0


def test_g13_an_incident_that_does_not_come_about_is_no_incident(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incident, "MOST_HOURS", 24)
    union = Union.of([lists(PROMPTS), lists(PROMPTS)])
    with pytest.raises(ValueError, match="no drift within 24 hours"):
        incident.kept(tmp_path / "monitor.db", union, Lawful(0.03), np.random.default_rng(0))


def test_rivals_alarm_as_often_as_they_are_tuned_to_and_see_gross_changes(lab: Lab) -> None:
    sets = g1.unions(lab, ("w4-g64",))
    rng = np.random.default_rng(9)

    def make(union: Union, _: np.random.Generator) -> headline.Path:
        return headline.lt_path(union, g1.with_days(0.03))

    nulls = [make(sets[0], rng)(None, 6, rng) for _ in range(240)]
    found = headline.Rival.of(sets, make, 2, nulls, rng)
    assert found.alarms <= 0.05
    assert found.delays[0] <= 3.0
    assert headline.bound(lists(PROMPTS), lists(PROMPTS, 0.8), 0.03) == 1.0
    assert headline.bound(lists(PROMPTS), lists(PROMPTS, 0.005), 0.03) > 5.0


def test_b3it_sees_another_model_and_not_an_unchanged_one(lab: Lab) -> None:
    rng = np.random.default_rng(10)
    union = Union.of([lab.first.get(CHANGES[name], g3.PROMPTS) for name in ("fp32", "anew")])
    endpoint = headline.border_endpoint(union, rng)
    still = headline.b3it_path(*endpoint, 0.0, 10, rng)
    limit = float(still.max())
    assert len(still) == 10 * 24
    assert headline.hours_after(headline.b3it_path(*endpoint, 1.0, 5, rng), limit) <= 5.0


def test_looks_are_hourly() -> None:
    assert headline.hours_of(1.0, 8) == headline.hours_of(8.0, 8) == 1.0
    assert headline.hours_of(9.0, 8) == 2.0
    assert headline.hours_of(np.inf, 8) == np.inf


def test_rounds_are_means_of_as_many_answers_as_are_bet_on_together() -> None:
    scores = np.arange(48.0).reshape(6, 8)
    assert Rounds().of(scores).tolist() == [3.5, 11.5, 19.5, 27.5, 35.5, 43.5]
    assert Rounds(together=1).of(scores).tolist() == list(range(48))
    assert (Rounds().a_day, Rounds(together=1).a_day, Rounds(10, 10).a_day) == (24, 192, 24)


def test_near_ties_are_read_as_g5_reads_them() -> None:
    assert g5.there(texts(0.1)).all()
