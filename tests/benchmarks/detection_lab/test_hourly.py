"""The lab's arrays give what the product's functions give, answer by answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.detection_lab import hourly
from benchmarks.detection_lab.border_hours import ASKED, WatchedBorder, asked, enrolled, enrolled_inputs
from benchmarks.detection_lab.hourly import HOURS, PROMPTS, Rounds, Scoring, answers, listings
from benchmarks.detection_lab.lawful import Lawful
from benchmarks.detection_lab.union import NO_TOKEN, Union
from benchmarks.simulated.delays import WITH, needed
from monitor.drift.border_scores import BorderInputs, First, border_evidence
from monitor.drift.decision import Event
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import Scores, StreamKey, Tier
from monitor.drift.fingerprint import Enrolment, enrol
from monitor.drift.fingerprint_scores import Asked, deviation_evidence
from monitor.drift.levels import DAY, Levels
from monitor.drift.score_stream import Bets, Round, ScoreStream, StreamRule
from monitor.drift.streams import Epoch, StreamState
from monitor.drift.whitened_scores import whiten, whitened_evidence
from tests.benchmarks.detection_lab.kept_lists import lists, others

T1 = StreamKey("endpoint", Tier.LOGPROBS, "anchors-1")
T2 = StreamKey("endpoint", Tier.BORDER, "border-1")
LAWFUL = Lawful(0.03, day=0.01, uneven=0.15)


@pytest.fixture(scope="module")
def union() -> Union:
    return Union.of([lists(PROMPTS), lists(PROMPTS, shift=0.09)])


def test_a_union_has_every_stacks_tokens_and_no_others() -> None:
    first, second = lists(2), others(2)
    joined = Union.of([first, second])
    assert joined.ids.shape == (2, 80)
    assert (joined.ids != NO_TOKEN).all()
    row = np.searchsorted(joined.ids[1], first.ids[1, :40])
    assert np.array_equal(joined.logprobs[0, 1, row], first.logprobs[1, :40])
    assert np.isneginf(joined.logprobs[1, 1, row]).all()
    assert np.array_equal(joined.of_prompts(slice(1, 2)).ids, joined.ids[1:])


@pytest.mark.parametrize("stack", [0, 1])
def test_scores_are_those_of_the_product(union: Union, stack: int) -> None:
    rng = np.random.default_rng(0)
    days = answers(union.logprobs[0], 14, LAWFUL, rng)
    came = list(listings(union, days))
    before = enrol(came)
    assert isinstance(before, Enrolment)
    found = answers(union.logprobs[stack], 1, LAWFUL, rng)
    of_hours = list(listings(union, found))
    hours = [Asked(T1, 0.0, of_hours[start : start + PROMPTS]) for start in range(0, len(of_hours), PROMPTS)]
    plain = [deviation_evidence(before, one).says for one in hours]
    whitened = whiten(before, came)
    lengths = [whitened_evidence(whitened, one).says for one in hours]
    for said, scored in ((plain, hourly.by_deviation), (lengths, hourly.by_length)):
        ours = scored(before, came, union).scores(found)
        assert ours.shape == (HOURS, PROMPTS)
        theirs = np.array([one.scores for one in said if isinstance(one, Scores)])
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_tokens_of_the_enrolment_are_found_among_the_unions(union: Union) -> None:
    found = enrol(listings(union, answers(union.logprobs[0], 14, LAWFUL, np.random.default_rng(1))))
    assert isinstance(found, Enrolment)
    scoring = Scoring.of(found, union)
    for prompt, one in enumerate(found.prompts):
        names = [union.name(prompt, place) for place in scoring.places[prompt, : len(one.tokens)]]
        assert tuple(names) == one.tokens


@pytest.mark.parametrize("rounds", [Rounds(), Rounds(together=1, scored=hourly.by_length)])
def test_a_proof_is_the_endpoints_drift_in_the_products_streams(union: Union, rounds: Rounds) -> None:
    rng = np.random.default_rng(2)
    watched = hourly.Watched.begun(union, LAWFUL, rng, rounds)
    assert watched is not None
    scores = watched.changing(union.logprobs[0], union.logprobs[1], 3, rng)
    found = hourly.proof(scores, watched.levels, needed(Tier.LOGPROBS, WITH), rounds)
    assert np.isfinite(found.rounds)
    assert found.dated <= 2.0

    opened = hourly.BASELINE_DAYS * DAY
    rule = StreamRule(rounds_a_day=rounds.a_day)
    streams = [StreamState(StreamKey("endpoint", tier, "1"), rule, Epoch(0, opened, "stack")) for tier in WITH]
    state = replace(ScoreStream.start(rule), bets=Bets.start(watched.levels, rule, opened))
    for place, score in enumerate(scores.tolist()):
        state = state.after(Round(opened + place * DAY / rounds.a_day, score))
        every = [
            one if one.key.tier is not Tier.LOGPROBS else StreamState(one.key, rule, one.epoch, state)
            for one in streams
        ]
        _, looked = EndpointStreams.opened(streams[0].epoch, every, {}).looked(opened)
        if Event.DRIFTED in looked.events:
            break
    assert place + 1 - rounds.before == found.rounds


def test_an_alarm_before_the_change_proves_nothing(union: Union) -> None:
    levels = Levels(0.1, 0.1, 0.02, 14)
    assert hourly.proof(np.full(100, 0.9), levels, 1_000.0) == pytest.approx(hourly.Proof(np.inf, np.nan), nan_ok=True)


def test_uneven_days_differ_and_even_ones_do_not() -> None:
    rng = np.random.default_rng(3)
    noise = Lawful(0.03, uneven=0.5).drawn((200, 1, 24, 50), rng).std(axis=(1, 2, 3))
    even = Lawful(0.03).drawn((200, 1, 24, 50), rng).std(axis=(1, 2, 3))
    assert np.log(noise).std() == pytest.approx(0.5, abs=0.08)
    assert np.log(even).std() < 0.15


def test_border_scores_are_those_of_the_product() -> None:
    union = Union.of([lists(400)])
    kept = enrolled_inputs(union, Lawful(0.03), np.random.default_rng(4))
    watched = enrolled(union, Lawful(0.03), np.random.default_rng(4), Rounds(ASKED, ASKED))
    assert isinstance(kept, BorderInputs)
    assert isinstance(watched, WatchedBorder)
    assert [one.prompt for one in kept.inputs] == [str(prompt) for prompt in watched.inputs]
    places, tokens = asked(union.logprobs[:, watched.inputs], 0.0, 1, Lawful(0.03), np.random.default_rng(5))
    assert places.shape == (HOURS, ASKED)
    for row, came in zip(places, tokens, strict=True):
        assert len(set(row.tolist())) == ASKED
        firsts = [
            First(kept.inputs[place].prompt, union.name(int(watched.inputs[place]), token))
            for place, token in zip(row, came, strict=True)
        ]
        said = border_evidence(kept, T2, 0.0, firsts).says
        assert isinstance(said, Scores)
        assert list(said.scores) == watched.scores[row, came].tolist()


def test_a_share_of_the_queries_goes_to_the_second_stack() -> None:
    union = Union.of([lists(50), others(50)])
    _, tokens = asked(union.logprobs[:, :20], 0.3, 30, Lawful(0.03), np.random.default_rng(6))
    elsewhere = np.isneginf(union.logprobs[0, 0])[tokens]
    assert elsewhere.mean() == pytest.approx(0.3, abs=0.02)
    _, alone = asked(union.logprobs[:1, :20], 0.3, 30, Lawful(0.03), np.random.default_rng(6))
    assert not np.isneginf(union.logprobs[0, 0])[alone].any()
