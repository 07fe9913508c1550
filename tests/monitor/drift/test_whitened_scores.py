"""T1 by whitened lengths: 0 while nothing changes, 1 for what int8 does, and bets that need few answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulated.lists import Lists
from benchmarks.simulated.rounds import HOURS
from monitor.drift.decision import DRIFT_AT
from monitor.drift.evidence import Evidence, Inapplicable, Scores, StreamKey, Tier
from monitor.drift.fingerprint import Enrolment, enrol
from monitor.drift.fingerprint_scores import Asked
from monitor.drift.listing import Listing
from monitor.drift.score_stream import Round, ScoreStream, StreamRule
from monitor.drift.whitened_scores import WhitenedEnrolment, tail, whiten, whitened_evidence

T1 = StreamKey("endpoint", Tier.LOGPROBS, "anchors-1")
DAYS = 14


def enrolled(
    noise: float, seed: int = 0, prompts: int = 3, daily: float = 0.0
) -> tuple[WhitenedEnrolment, Lists, list[list[Listing]]]:
    rng = np.random.default_rng(seed)
    endpoint = Lists.of(rng, noise, prompts)
    baseline = endpoint.hours(rng, DAYS * HOURS, daily=daily)
    came = [one for of_hour in baseline for one in of_hour]
    found = enrol(came)
    assert isinstance(found, Enrolment)
    return whiten(found, came), endpoint, baseline


def said(whitened: WhitenedEnrolment, rounds: list[list[Listing]]) -> list[Evidence]:
    return [whitened_evidence(whitened, Asked(T1, one[0].at, one)) for one in rounds]


def means(evidence: list[Evidence]) -> np.ndarray:
    return np.array([one.says.mean for one in evidence if isinstance(one.says, Scores)])


def test_answers_score_nothing_while_nothing_changes_and_one_for_int8() -> None:
    whitened, endpoint, baseline = enrolled(0.03)
    rng = np.random.default_rng(1)
    assert means(said(whitened, baseline)).mean() < 0.01
    assert means(said(whitened, endpoint.hours(rng, 200))).mean() < 0.01
    assert means(said(whitened, endpoint.moved(rng, 0.071).hours(rng, 50))).mean() > 0.9


def test_a_normaliser_that_moves_within_the_noise_is_none_of_the_change() -> None:
    """All tokens of an answer off by what they often share."""
    whitened, endpoint, _ = enrolled(0.06)
    moved = replace(endpoint, logprobs=endpoint.logprobs - 0.04)
    found = said(whitened, moved.hours(np.random.default_rng(2), 50))
    assert means(found).mean() < 0.05


def test_queries_that_are_bet_on_one_by_one_prove_int8_in_a_few() -> None:
    whitened, endpoint, baseline = enrolled(0.03, prompts=8)
    rng = np.random.default_rng(3)
    first = DAYS * HOURS
    after = endpoint.moved(rng, 0.071).hours(rng, 3, first=first)
    single = [
        [
            Round(at + 60.0 * place, one.says.mean)
            for of_hour in rounds
            for place, asked in enumerate(of_hour)
            for at, one in [(asked.at, whitened_evidence(whitened, Asked(T1, asked.at, [asked])))]
            if isinstance(one.says, Scores)
        ]
        for rounds in (baseline, after)
    ]
    state = ScoreStream.with_baseline(StreamRule(rounds_a_day=8 * HOURS), single[0], single[1][0].at)
    assert state.bets is not None
    values = []
    for one in single[1]:
        state = state.after(one)
        values.append(state.value)
    assert np.argmax(np.array(values) >= DRIFT_AT) + 1 <= 8
    assert max(values) >= DRIFT_AT


@pytest.mark.parametrize("noise", [0.0, 1e-4, 0.003])
def test_an_endpoint_that_hardly_differs_may_move_as_builds_of_one_engine_do(noise: float) -> None:
    """Also one that answers the same each time: noise of nothing is no unit to measure by."""
    whitened, endpoint, baseline = enrolled(noise, prompts=8)
    rng = np.random.default_rng(4)
    assert means(said(whitened, baseline)).max() == 0.0
    assert means(said(whitened, endpoint.moved(rng, 0.01).hours(rng, 50))).mean() < 0.01
    assert means(said(whitened, endpoint.moved(rng, 0.071).hours(rng, 50))).mean() > 0.9


def test_noise_that_hides_int8_is_inapplicable_and_says_so() -> None:
    whitened, _, baseline = enrolled(0.3)
    (found,) = said(whitened, baseline[:1])
    assert isinstance(found.says, Inapplicable)
    assert "the shift that should be seen (0.071 nat)" in found.says.reason


def test_days_of_a_sixth_more_noise_are_lawful() -> None:
    """Without the allowance two epochs in five reach 1,000."""
    rng = np.random.default_rng(5)
    highest = []
    for seed in range(2):
        whitened, endpoint, _ = enrolled(0.03, seed, daily=0.15)
        before = said(whitened, endpoint.hours(rng, DAYS * HOURS, daily=0.15))
        for _ in range(4):
            epoch = said(whitened, endpoint.hours(rng, 30 * HOURS, first=DAYS * HOURS, daily=0.15))
            rounds = [[Round(one.at, mean) for one, mean in zip(of, means(of), strict=True)] for of in (before, epoch)]
            state = ScoreStream.with_baseline(StreamRule(), rounds[0], rounds[1][0].at)
            assert state.bets is not None
            values = []
            for one in rounds[1]:
                state = state.after(one)
                values.append(state.value)
            highest.append(max(values))
    assert max(highest) < 100.0


@pytest.mark.parametrize("noise", [0.03, 0.06])
def test_what_a_target_scores_is_foretold(noise: float) -> None:
    whitened, _, _ = enrolled(noise)
    rng = np.random.default_rng(6)
    (one, *_) = [each for each in whitened.prompts if each is not None]
    tokens = len(one.own)
    moved = rng.normal(0.0, 0.071 * np.sqrt(np.pi / 2.0), (4_000, tokens))
    answers = moved + noise * np.sqrt(0.5) * (rng.normal(size=moved.shape) + rng.normal(size=(4_000, 1)))
    assert tail(one.noise.squared(answers), one.reach).mean() == pytest.approx(one.score_of(0.071), abs=0.08)


def test_answers_without_lists_are_inapplicable() -> None:
    whitened, _, baseline = enrolled(0.03)
    empty = [Listing(one.prompt, one.at, (), np.array([])) for one in baseline[0]]
    found = whitened_evidence(whitened, Asked(T1, 0.0, empty))
    assert found.says == Inapplicable("none of 3 answers brought log-probabilities that can be compared")
    with pytest.raises(ValueError, match="never was not enrolled"):
        whitened_evidence(whitened, Asked(T1, 0.0, [replace(baseline[0][0], prompt="never")]))


def test_prompts_of_two_tokens_have_no_noise_to_be_told_apart() -> None:
    rng = np.random.default_rng(4)
    baseline = replace(Lists.of(rng, 0.03, 2), listed=2).hours(rng, DAYS * HOURS)
    came = [one for of_hour in baseline for one in of_hour]
    found = enrol(came)
    assert isinstance(found, Enrolment)
    (one,) = said(whiten(found, came), baseline[:1])
    assert isinstance(one.says, Inapplicable)
    assert one.says.reason.startswith("no prompt has 3 tokens")


def test_an_enrolment_is_read_back_to_the_last_bit() -> None:
    whitened, _, _ = enrolled(0.03)
    assert WhitenedEnrolment.from_json(whitened.to_json()) == whitened
    for text in ("{}", whitened.to_json().replace('"version":1', '"version":2', 1), "[]"):
        with pytest.raises(ValueError, match="enrol anew from the answers"):
            WhitenedEnrolment.from_json(text)


@settings(max_examples=50)
@given(squared=st.floats(0.0, 1e6), more=st.floats(0.0, 1e6), reach=st.floats(1e-3, 1e3))
def test_scores_are_in_range_and_rise_with_the_length(squared: float, more: float, reach: float) -> None:
    low, high = tail(np.array([squared, squared + more]), reach)
    assert 0.0 <= low <= high <= 1.0
    assert tail(np.array([reach]), reach)[0] == 0.0
