"""A run that ends feeds its endpoint's streams: from the first answers to levels, to a drift, and what comes after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import delete, select

from monitor.alerts.rule import BUILT_IN
from monitor.alerts.signals import Verdicted
from monitor.check.feed import listings_of
from monitor.drift.anchors import PLAIN, SCORED, WHITENED
from monitor.drift.broken_calls import CaseCalls
from monitor.drift.count_stream import CountStream
from monitor.drift.decision import Level
from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.findings import Finding
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict
from monitor.drift.score_stream import ScoreStream
from monitor.drift.streams import StreamState as State
from monitor.drift.whitened_scores import WhitenedEnrolment
from monitor.standing import STREAMS
from monitor.store import EndpointRecord, RunResult, RunStatus, Store, Trigger
from monitor.store.alerts import Alerts
from monitor.store.feeding import cases_key
from monitor.store.stream_records import Fed
from monitor.store.stream_views import StreamViews
from monitor.store.streams import Streams
from monitor.store.tables import Enrolment, Stream, StreamEpoch, StreamEvidence, StreamState
from monitor.store.tables import Observation as StoredObservation
from monitor.store.vocabulary import AlertState, EpochEnd
from probes.plan import ProbeKind
from tests.monitor.store.material import AT, sample, start

STACK = "stack-1"
PROMPTS = [f"anchor-{number}" for number in range(6)]
TOKENS = tuple(f"token {number}".encode() for number in range(20))
MEANS = np.sort(np.random.default_rng(3).normal(-4.0, 1.5, (6, 20)))[:, ::-1] - 0.5
# Every three hours, two answers to each anchor: a hundred runs of these enrol, and are twelve days and a half.
EVERY = timedelta(hours=3)


class Made:
    """An endpoint that is asked every three hours; `moved` is how far each token's log-probability is off, in nats."""

    def __init__(self, store: Store, endpoint: EndpointRecord, trigger: Trigger = Trigger.SCHEDULE) -> None:
        self.store, self.endpoint, self.trigger = store, endpoint, trigger
        self.at = AT
        self.moved = 0.0
        self.listed = True
        self.stack = STACK
        self._rng = np.random.default_rng(11)
        self._shift = np.random.default_rng(5).normal(0.0, 1.0, MEANS.shape)
        self.streams = Streams(store.sessions)

    def run(self, *, feeds: bool = True, prompts: Iterable[str] = PROMPTS, trigger: Trigger | None = None) -> str:
        observations = [self._answer(prompt, rep) for prompt in prompts for rep in range(2)]
        fed = Fed(self.stack, listings=listings_of(observations), tokens=100, rounds_a_day=8)
        result = RunResult(RunStatus.SUCCEEDED, observations=observations, fed=fed if feeds else None)
        begun = replace(start(self.endpoint.id), trigger=trigger or self.trigger)
        run_id = self.store.begin_run(begun, at=self.at)
        self.store.finish_run(run_id, result, at=self.at + timedelta(seconds=30))
        self.at += EVERY
        return run_id

    def runs(self, count: int, *, feeds: bool = True) -> list[str]:
        return [self.run(feeds=feeds) for _ in range(count)]

    def state(self, name: str = PLAIN) -> State:
        return self.streams.states(self.endpoint.id).streams[StreamKey(self.endpoint.id, Tier.LOGPROBS, name)]

    def score_stream(self, name: str = PLAIN) -> ScoreStream:
        process = self.state(name).process
        assert isinstance(process, ScoreStream)
        return process

    def enrolments(self) -> list[datetime | None]:
        """When each was closed."""
        with self.store.sessions.read() as session:
            return list(session.scalars(select(Enrolment.closed_at).order_by(Enrolment.id)))

    def _answer(self, prompt: str, rep: int) -> Observation:
        place = PROMPTS.index(prompt)
        values = MEANS[place] + self.moved * self._shift[place] + self._rng.normal(0.0, 0.02, 20)
        return Observation(
            item_key=prompt,
            rep=rep,
            anchor=True,
            tokens=TOKENS if self.listed else (),
            logprobs=np.minimum(values, -1e-3) if self.listed else np.array([]),
            sampled=TOKENS[0],
            reference_tokens=(),
            expected={},
            prompt_tokens=12,
            expected_prompt_tokens=12,
            response_id=None,
        )


@pytest.fixture
def made(store: Store, endpoint: EndpointRecord) -> Made:
    return Made(store, endpoint)


def test_the_first_run_opens_an_epoch_and_scores_nothing(made: Made) -> None:
    made.run()

    streams = made.streams.states(made.endpoint.id)
    assert {key.probe_set for key in streams.streams} == {
        *SCORED, "accounting", "protocol", "tool_calls", "agent_loops", "evals", "cases",
    }  # fmt: skip
    assert made.state().process is None
    assert made.enrolments() == []


def test_from_the_first_answers_to_levels_to_drift(made: Made) -> None:
    made.runs(98, feeds=False)
    made.run()
    assert made.enrolments() == []

    made.run()  # the two hundredth answer of each
    assert made.enrolments() == [None]
    assert made.score_stream().bets is None
    assert [one.why for one in made.streams.epochs(made.endpoint.id)] == [EpochEnd.REPLANNED, None]

    quiet = made.runs(24)
    assert made.score_stream().bets is not None
    assert made.streams.states(made.endpoint.id).state.level is Level.QUIET
    assert [made.score_stream(name).rounds for name in SCORED] == [len(quiet)] * 3
    assert all(made.store.evidence(run) == () for run in quiet)

    made.moved = 0.3
    told = [found for run in made.runs(16) for found in made.store.evidence(run)]
    assert {one.metric for one in told} == {STREAMS}
    assert told[-1].verdict is Verdict.DRIFT
    assert told[-1].counted
    assert (told[-1].value or 0.0) >= 1_000.0
    assert "anchors" in (told[-1].reason or "")
    replayed = made.streams.replay(made.endpoint.id, 1)
    assert replayed.difference is None
    assert replayed.exact


def test_a_past_from_before_streams_is_enrolled_at_once(made: Made) -> None:
    made.runs(120, feeds=False)
    made.run()

    assert made.score_stream().bets is not None
    assert [one.why for one in made.streams.epochs(made.endpoint.id)] == [None]
    # Its own answers are part of the baseline, and no evidence.
    assert made.score_stream().rounds == 0


def test_what_moved_while_it_was_enrolled_is_not_enrolled(made: Made) -> None:
    made.runs(60, feeds=False)
    made.moved = 0.3
    made.runs(50, feeds=False)
    made.run()

    assert made.enrolments() == []
    assert made.state().process is None


def test_without_log_probabilities_their_streams_are_not_watched(made: Made) -> None:
    made.listed = False
    made.run()
    names = {key.probe_set for key in made.streams.states(made.endpoint.id).streams}
    assert PLAIN not in names

    made.listed = True
    made.run()
    names = {key.probe_set for key in made.streams.states(made.endpoint.id).streams}
    assert {*SCORED} <= names


def test_that_they_come_no_more_is_said_and_is_no_pass(made: Made) -> None:
    made.run()
    made.listed = False
    made.run()

    assert made.state().why_not == "none of 12 answers brought log-probabilities"


def test_another_stack_of_ours_keeps_the_baseline_and_forgets_the_evidence(made: Made) -> None:
    made.runs(120, feeds=False)
    made.runs(9)
    before = made.score_stream()
    made.stack = "stack-2"
    made.run()

    after = made.score_stream()
    assert after.bets is not None
    assert after.baseline == before.baseline
    assert after.calibration == before.calibration
    assert after.rounds == 1
    assert [one.why for one in made.streams.epochs(made.endpoint.id)] == [EpochEnd.OUR_STACK, None]


def test_the_first_baseline_is_scored_by_each_stack_of_ours_and_held_against_the_new_one(made: Made) -> None:
    made.runs(120, feeds=False)
    made.runs(9)
    for number in (2, 3):
        made.stack = f"stack-{number}"
        made.runs(3)

    first, *later = made.streams.epochs(made.endpoint.id)
    assert first.against_first == {}
    for count, epoch in enumerate(later, 1):
        by_name = {key.probe_set: found for key, found in epoch.against_first.items()}
        assert by_name.keys() == {*SCORED}
        assert {found.comparison for found in by_name.values()} == {count}
        assert all(found.level is not None and abs(found.level.value) < 1e-6 for found in by_name.values())


def test_a_drift_that_began_before_our_upgrade_is_not_taken_into_the_baseline(made: Made) -> None:
    made.runs(120)
    levels = made.score_stream().calibration
    made.moved = 0.3
    made.runs(4)
    made.stack = "stack-2"
    made.runs(16)

    assert made.score_stream().calibration == levels
    assert made.streams.states(made.endpoint.id).state.level is Level.DRIFT


def test_fewer_anchors_are_scored_against_the_same_enrolment(made: Made) -> None:
    made.runs(120, feeds=False)
    made.runs(3)
    for _ in range(2):
        made.run(prompts=PROMPTS[:4])

    assert made.enrolments()[-1] is None
    assert len(made.enrolments()) == 2
    assert made.score_stream().bets is not None
    assert made.score_stream().rounds == 2


def test_a_check_by_hand_that_asks_fewer_anchors_changes_nothing(made: Made) -> None:
    made.runs(120, feeds=False)
    made.runs(3)
    made.run(prompts=PROMPTS[:4], trigger=Trigger.CLI)

    assert len(made.enrolments()) == 1
    assert made.score_stream().rounds == 2


def test_what_a_person_accepted_is_enrolled_anew_of_later_answers(made: Made) -> None:
    made.runs(120, feeds=False)
    made.runs(2)
    made.moved = 0.3
    made.runs(16)
    alerts = Alerts(made.store.sessions)
    drifted = Verdicted("chk_1", made.at, STREAMS, Verdict.DRIFT, proven=True)
    (alert_id,) = alerts.apply(made.endpoint.id, {}, [drifted], BUILT_IN, at=made.at)
    made.streams.accept(made.endpoint.id, {}, note="they said so", actor="me", at=made.at)
    assert alerts.show(alert_id).state is AlertState.RESOLVED
    assert made.enrolments()[0] is not None

    made.runs(8)
    assert made.streams.states(made.endpoint.id).state.level is Level.QUIET
    made.runs(112)
    assert made.enrolments()[-1] is None
    assert made.streams.states(made.endpoint.id).state.level is Level.QUIET
    # What it was before the change would be drift by now.
    made.moved = 0.0
    made.runs(16)
    assert made.streams.states(made.endpoint.id).state.level is Level.DRIFT


def test_answers_from_before_an_acceptance_are_left_out_where_none_were_enrolled_yet(made: Made) -> None:
    made.runs(50)
    made.streams.accept(made.endpoint.id, {}, note="they said so", actor="me", at=made.at)
    made.at += EVERY
    made.runs(60)
    assert made.enrolments() == []

    made.runs(45)

    assert made.enrolments() == [None]


def test_what_runs_found_by_themselves_is_added_up(made: Made, store: Store) -> None:
    finding = Finding(Verdict.OK, adjusted_p=0.3, n=40)
    for minutes in range(2):
        run_id = store.begin_run(start(made.endpoint.id, ProbeKind.TOOL_CALLS), at=AT + timedelta(minutes=minutes))
        fed = Fed(STACK, {"tool_calls": finding}, tokens=50, rounds_a_day=1)
        store.finish_run(run_id, RunResult(RunStatus.SUCCEEDED, fed=fed), at=AT + timedelta(minutes=minutes + 1))

    state = made.streams.states(made.endpoint.id).streams[StreamKey(made.endpoint.id, Tier.CAPABILITY, "tool_calls")]
    assert 0.0 < state.value < 1.0
    assert made.state().process is None


def test_an_upgrade_adds_a_score_to_an_enrolment_and_takes_no_drift_into_it(made: Made) -> None:
    made.runs(120, feeds=False)
    made.runs(3)
    as_of_an_earlier_release(made)
    levels = made.score_stream().baseline
    made.moved = 0.3
    made.runs(2)

    assert len(made.enrolments()) == 2
    assert made.score_stream(WHITENED).baseline == levels
    assert made.score_stream(WHITENED).rounds > 0
    made.runs(14)
    assert made.streams.states(made.endpoint.id).state.level is Level.DRIFT
    assert made.streams.replay(made.endpoint.id, len(made.streams.epochs(made.endpoint.id)) - 1).difference is None


def test_an_enrolment_after_an_acceptance_is_made_anew_of_answers_from_after_it(made: Made) -> None:
    made.runs(120, feeds=False)
    made.runs(2)
    made.moved = 0.3
    made.runs(10)
    made.streams.accept(made.endpoint.id, {}, note="they said so", actor="me", at=made.at)
    made.runs(119, feeds=False)
    made.run()
    as_of_an_earlier_release(made)
    made.runs(8)

    assert len(made.enrolments()) == 3
    assert made.streams.states(made.endpoint.id).state.level is Level.QUIET
    assert made.score_stream(WHITENED).rounds > 0


def test_an_enrolment_whose_answers_are_gone_is_followed_by_one_of_later_answers(made: Made) -> None:
    made.runs(110, feeds=False)
    made.run()
    as_of_an_earlier_release(made)
    with made.store.sessions.write() as session:
        session.execute(delete(StoredObservation))
    made.runs(98, feeds=False)
    made.run()
    assert len(made.enrolments()) == 1
    made.run()

    assert [one is None for one in made.enrolments()] == [False, True]


def as_of_an_earlier_release(made: Made) -> None:
    """Its body had no noise, and its streams were those of two scores."""
    of_third = select(Stream.id).where(Stream.probe_set == WHITENED)
    its_epochs = select(StreamEpoch.id).where(StreamEpoch.stream_id.in_(of_third))
    with made.store.sessions.write() as session:
        session.execute(delete(StreamState).where(StreamState.stream_epoch_id.in_(its_epochs)))
        session.execute(delete(StreamEvidence).where(StreamEvidence.stream_id.in_(of_third)))
        session.execute(delete(StreamEpoch).where(StreamEpoch.stream_id.in_(of_third)))
        session.execute(delete(Stream).where(Stream.probe_set == WHITENED))
        row = session.scalars(select(Enrolment).where(Enrolment.closed_at.is_(None))).one()
        row.body = WhitenedEnrolment.from_json(row.body).enrolment.to_json()


class Asked:
    """A tool-call probe a day: each week's cases are asked every day, `bad` of them with broken calls."""

    def __init__(self, store: Store, endpoint: EndpointRecord) -> None:
        self.store, self.endpoint, self.day, self.bad = store, endpoint, 0, 2

    def runs(self, count: int) -> list[str]:
        return [self.run() for _ in range(count)]

    def run(self) -> str:
        at, week = AT + timedelta(days=self.day), self.day // 7
        cases = tuple(CaseCalls(f"{week}_{number}", float(number < self.bad), number >= 140) for number in range(150))
        run_id = self.store.begin_run(start(self.endpoint.id, ProbeKind.TOOL_CALLS), at=at)
        self.store.add_samples(run_id, [sample(f"{one.key}-stream") for one in cases], at=at)
        result = RunResult(RunStatus.SUCCEEDED, fed=Fed(STACK, cases=cases, tokens=9, rounds_a_day=1))
        self.store.finish_run(run_id, result, at=at + timedelta(minutes=9))
        self.day += 1
        return run_id


def test_broken_calls_are_counted_against_the_share_of_new_cases(store: Store, endpoint: EndpointRecord) -> None:
    asked, streams = Asked(store, endpoint), Streams(store.sessions)
    key = cases_key(endpoint.id)

    asked.runs(14)
    found = streams.states(endpoint.id).streams[key].process
    assert isinstance(found, CountStream)
    # Asked for the first time, and not in every week: the seven days of a week count once.
    assert [(one.bad, one.of) for one in found.past] == [(2.0, 140), (2.0, 140)]
    asked.run()
    begun = streams.states(endpoint.id).streams[key]
    assert begun.calibrated

    asked.bad = 40
    told = [one for run in asked.runs(3) for one in store.evidence(run) if one.metric == STREAMS]
    assert told[-1].verdict is Verdict.DRIFT
    assert "T6 cases" in (told[-1].reason or "")
    view = StreamViews(store.sessions).view(endpoint.id)
    assert view is not None
    assert view.onset is not None
    assert view.onset.first == (AT + timedelta(days=15)).timestamp()
    replayed = streams.replay(endpoint.id, 0)
    assert (replayed.difference, replayed.exact) == (None, True)


def test_a_run_in_which_no_tool_was_called_is_told_once(store: Store, endpoint: EndpointRecord) -> None:
    for minutes in range(2):
        run_id = store.begin_run(start(endpoint.id, ProbeKind.TOOL_CALLS), at=AT + timedelta(minutes=minutes))
        store.finish_run(run_id, RunResult(RunStatus.SUCCEEDED, fed=Fed(STACK)), at=AT + timedelta(minutes=minutes + 1))

    assert Streams(store.sessions).states(endpoint.id).streams[cases_key(endpoint.id)].why_not == "no tool was called"
