"""Whole answers as evidence of a stream: lawful to multiply, one value of three tests, or inapplicable and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulated.texts import model, noisy, rows, sides, tempered
from monitor.drift import rank_uniformity, repeated_answers
from monitor.drift.answers import Sides
from monitor.drift.evidence import Combining, Evidence, ExactP, Factors, Inapplicable, Null, StreamKey, Tier
from monitor.drift.score_stream import StreamRule
from monitor.drift.sequential import calibrated, calibrated_mean
from monitor.drift.streams import Epoch, StreamState, fold
from monitor.drift.whole_answers import of_allowed, of_distance, of_likelihood, of_ranks, of_whole_answers

STREAM = StreamKey("e1", Tier.DISTRIBUTION, "openings-1")
ONCE, REPEATED = sides(20, 1, 15, seed=1), sides(12, 6, 6, seed=2)
COPIES = Sides(rows(REPEATED.endpoint, 6 * (np.arange(72) // 6)), REPEATED.reference)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_uniformity, "DRAWS", 1_999)
    monkeypatch.setattr(repeated_answers, "DRAWS", 1_999)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def value(found: Evidence) -> float:
    assert isinstance(found.says, Factors)
    return sum(found.says.factors) / len(found.says.factors)


@pytest.mark.parametrize(("of", "sides_of"), [(of_ranks, ONCE), (of_distance, REPEATED), (of_likelihood, REPEATED)])
def test_each_test_is_an_exact_p_under_the_reference(of: Callable[..., Evidence], sides_of: Sides) -> None:
    found = of(STREAM, 60.0, sides_of, rng(), tokens=900, draws=99)
    assert (found.stream, found.at, found.tokens) == (STREAM, 60.0, 900)
    assert found.n == len(sides_of.endpoint)
    assert isinstance(found.says, ExactP)
    assert (found.says.null, found.says.combining) == (Null.REFERENCE, Combining.MULTIPLY)
    assert len(found.reasons) == 1
    again = of(STREAM, 60.0, sides_of, rng(), draws=99, combining=Combining.AVERAGE)
    assert again.says == replace(found.says, combining=Combining.AVERAGE)


def test_three_tests_are_one_value_their_average() -> None:
    found = of_whole_answers(STREAM, 60.0, ONCE, REPEATED, rng(), tokens=900)
    assert isinstance(found.says, Factors)
    assert (found.says.null, found.says.combining) == (Null.REFERENCE, Combining.EACH)
    assert (found.n, found.tokens, len(found.reasons)) == (20 + 72, 900, 3)
    ps = []
    draws = rng()
    ps.append(rank_uniformity.uniformity(ONCE, draws, 1_999).p)
    told = repeated_answers.compare(REPEATED, draws, 1_999)
    ps += [told.distance.p, told.moved.p]
    assert found.says.factors == tuple(factor for p in ps for factor in calibrated(p))
    assert value(found) == pytest.approx(np.mean([calibrated_mean(p) for p in ps]))


def test_a_test_that_cannot_be_made_keeps_its_part_of_the_stake() -> None:
    alone = of_whole_answers(STREAM, 60.0, ONCE, None, rng())
    copies = of_whole_answers(STREAM, 60.0, ONCE, COPIES, rng())
    assert isinstance(alone.says, Factors)
    assert isinstance(copies.says, Factors)
    assert alone.says == copies.says
    assert alone.says.factors[6:] == (1.0,) * 12
    assert "copies of one answer" in copies.reasons[1]
    few = rows(ONCE.endpoint, np.arange(4))
    repeated = of_whole_answers(STREAM, 60.0, replace(ONCE, endpoint=few), REPEATED, rng())
    assert isinstance(repeated.says, Factors)
    assert repeated.says.factors[:6] == (1.0,) * 6


def test_without_single_answers_the_first_ones_are_ranked() -> None:
    found = of_whole_answers(STREAM, 60.0, None, sides(12, 6, 12, seed=4), rng())
    assert found.reasons[0].startswith("12 answers rank at ")
    with pytest.raises(ValueError, match="no answers were asked for"):
        of_whole_answers(STREAM, 60.0, None, None, rng())


@pytest.mark.parametrize("of", [of_ranks, of_distance, of_likelihood])
def test_nothing_to_compare_is_inapplicable_and_never_a_pass(of: Callable[..., Evidence]) -> None:
    few = Sides(rows(REPEATED.endpoint, np.arange(30)), REPEATED.reference)
    found = of(STREAM, 60.0, few, rng(), tokens=9)
    reason = "5 prompts have answers of either side, and 10 are needed"
    assert (found.says, found.n, found.tokens) == (Inapplicable(reason), 30, 9)
    assert of_whole_answers(STREAM, 60.0, few, few, rng()).says == Inapplicable(reason)


def test_copies_are_inapplicable_to_all_but_the_ranks() -> None:
    for of in (of_distance, of_likelihood):
        found = of(STREAM, 60.0, COPIES, rng())
        assert isinstance(found.says, Inapplicable)
        assert "copies of one answer" in found.says.reason


def test_the_value_has_mean_one_at_most_while_nothing_changed() -> None:
    """Of 120 rounds; calibrators are heavy-tailed, so cut at 20, which a mean of at most 1 leaves below 1 too."""
    of, values, alarms = model(10, seed=5), [], 0
    for seed in range(120):
        once, repeated = (
            sides(10, *counts, seed=seed + at, of=of, tokens=10) for at, counts in ((0, (1, 12)), (9_000, (4, 4)))
        )
        found = of_whole_answers(STREAM, 60.0, once, repeated, rng(seed))
        values.append(min(value(found), 20.0))
        alarms += value(found) >= 20.0
    assert np.mean(values) <= 1.0 + 3 * np.std(values) / np.sqrt(120)
    assert alarms / 120 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 120)


def state() -> StreamState:
    return StreamState(STREAM, StreamRule(rounds_a_day=1), Epoch(1, 0.0, "stack"))


def rounds(change: float, count: int) -> list[Evidence]:
    asked = [
        [sides(*counts, seed=10 * at + place, change=tempered(change)) for place, counts in enumerate(SIZES)]
        for at in range(count)
    ]
    return [of_whole_answers(STREAM, 60.0 * at, once, more, rng(at)) for at, (once, more) in enumerate(asked)]


SIZES = ((60, 1, 40), (20, 8, 8))


def test_a_stream_multiplies_rounds_of_fresh_answers() -> None:
    changed, unchanged = rounds(0.9, 4), rounds(1.0, 4)
    values = [fold(state(), changed[:last]).value for last in (1, 2, 4)]
    assert values == sorted(values)
    assert values[-1] >= 1_000.0
    assert fold(state(), unchanged).value < 20.0


def test_a_round_is_that_of_an_allowed_profile_where_any_explains_it() -> None:
    """The reference runs another profile than the endpoint, which is among the allowed ones."""
    other = model(20, seed=7).changed(noisy(1.5))
    strange = sides(20, 12, 12, seed=6, change=noisy(1.5), of=model(20, seed=7))
    prompts = np.repeat(np.arange(20), 12)
    own = Sides(
        other.read(strange.endpoint.prompts, strange.endpoint.ids),
        other.read(prompts, other.drawn(prompts, 30, rng(6))),
    )
    found = [of_whole_answers(STREAM, 60.0, None, each, rng()) for each in (strange, own)]
    assert value(found[0]) >= 20.0
    worst = of_allowed(found)
    assert value(worst) <= min(map(value, found)) < 20.0
    assert worst.reasons == found[1].reasons
    exact = [of_distance(STREAM, 60.0, each, rng()) for each in (strange, own)]
    assert of_allowed(exact).says == exact[1].says


def test_what_is_not_one_round_against_each_profile_is_refused() -> None:
    found = of_distance(STREAM, 60.0, REPEATED, rng())
    combined = of_whole_answers(STREAM, 60.0, ONCE, REPEATED, rng())
    inapplicable = of_distance(STREAM, 60.0, COPIES, rng())
    assert of_allowed([found, inapplicable]) == inapplicable
    with pytest.raises(ValueError, match="one round of one stream"):
        of_allowed([])
    with pytest.raises(ValueError, match="one round of one stream"):
        of_allowed([found, replace(found, at=61.0)])
    with pytest.raises(ValueError, match=r"one kind is expected: \['ExactP', 'Factors'\]"):
        of_allowed([found, combined])


def test_reasons_hold_figures_and_no_answer() -> None:
    found = of_whole_answers(STREAM, 60.0, ONCE, REPEATED, rng())
    assert found.reasons[0].startswith("20 answers rank at 0.")
    assert found.reasons[1].startswith("squared distance of 72 answers ")
    assert " nat a token " in found.reasons[2]
