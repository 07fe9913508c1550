"""Border inputs from enrolment to levels, to another model, and what comes after."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import select

from monitor.check.border import Pool, asked_of
from monitor.check.reference import OpenReference
from monitor.drift.border_run import NONE, assess_border
from monitor.drift.border_scores import BorderInput, BorderInputs
from monitor.drift.border_stages import SCREENED_ALONE, Enrolling
from monitor.drift.decision import Level
from monitor.drift.evidence import Inapplicable, StreamKey, Tier
from monitor.drift.observation import Observation
from monitor.drift.score_stream import ScoreStream
from monitor.store import EndpointRecord, RunResult, RunStatus, Store, Trigger
from monitor.store.stream_records import Fed
from monitor.store.streams import Streams
from monitor.store.tables import Enrolment
from monitor.store.vocabulary import EpochEnd, StreamTier
from probes import border
from probes.border import Ask
from probes.plan import ProbeKind
from tests.monitor.drift.first_tokens import first_token
from tests.monitor.store.material import AT, start

SEED = b"b" * 32
PROMPTS = list(border.pool(SEED))
A_DAY = 4
TOKENS = (b"yes", b"no", b"other")


def inputs_of(prompts: list[str]) -> BorderInputs:
    return BorderInputs(tuple(BorderInput(prompt, TOKENS, (55, 40, 5)) for prompt in prompts))


@dataclass
class Made:
    """An endpoint whose border inputs are asked every six hours, ten a round; `others`: the share of first tokens that
    another model gives."""

    store: Store
    endpoint: EndpointRecord
    inputs: BorderInputs = field(default_factory=lambda: inputs_of(PROMPTS[:20]))
    at: datetime = AT
    others: float = 0.0
    stack: str = "stack-1"
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(3))

    def watch(self, runs: int) -> None:
        for _ in range(runs):
            chosen = self.rng.choice(len(self.inputs.inputs), 10, replace=False)
            answers = [self._answer(self.inputs.inputs[place].prompt) for place in chosen]
            self._run(self.inputs, answers)

    def answer(self, prompts: list[str], times: int, *, trigger: Trigger = Trigger.SCHEDULE) -> None:
        """A run while border inputs are looked for."""
        answers = [self._answer(prompt, rep) for rep in range(times) for prompt in prompts]
        self._run(Enrolling("looking", (Ask(prompts[0], 1),)), answers, trigger)

    def none(self) -> None:
        self._run(Enrolling("why", found=Inapplicable("why")), [])

    @property
    def streams(self) -> Streams:
        return Streams(self.store.sessions)

    def keys(self) -> set[str]:
        watched = self.streams.states(self.endpoint.id).streams
        return {key.probe_set for key in watched if key.tier is Tier.BORDER}

    def score_stream(self) -> ScoreStream:
        key = StreamKey(self.endpoint.id, Tier.BORDER, self.inputs.probe_set)
        process = self.streams.states(self.endpoint.id).streams[key].process
        assert isinstance(process, ScoreStream)
        return process

    def rows(self) -> list[tuple[StreamTier, bool]]:
        """Of all enrolments, whether each is open."""
        with self.store.sessions.read() as session:
            rows = session.scalars(select(Enrolment).order_by(Enrolment.id))
            return [(row.tier, row.closed_at is None) for row in rows]

    def asked(self) -> BorderInputs | Enrolling:
        return asked_of(Pool(OpenReference(None, None, (), None), SEED, self.store.sessions), self.endpoint.id, self.at)

    def _run(
        self, asked: BorderInputs | Enrolling, answers: list[Observation], trigger: Trigger = Trigger.SCHEDULE
    ) -> None:
        found = assess_border(self.endpoint.id, asked, answers, tokens=100)
        fed = Fed(self.stack, evidence=found.evidence, tokens=100, rounds_a_day=A_DAY, border=found.inputs)
        begun = replace(start(self.endpoint.id, ProbeKind.BORDER), trigger=trigger, suite_version=border.VERSION)
        run_id = self.store.begin_run(begun, at=self.at)
        result = RunResult(RunStatus.SUCCEEDED, observations=answers, fed=None if trigger is Trigger.CONFIRM else fed)
        self.store.finish_run(run_id, result, at=self.at + timedelta(seconds=30))
        self.at += timedelta(days=1) / A_DAY

    def _answer(self, prompt: str, rep: int = 0) -> Observation:
        token = b"another" if self.rng.random() < self.others else TOKENS[int(self.rng.choice(3, p=(0.55, 0.4, 0.05)))]
        return first_token(prompt, token, rep=rep)


@pytest.fixture
def made(store: Store, endpoint: EndpointRecord) -> Made:
    return Made(store, endpoint)


def test_from_border_inputs_to_levels_to_another_model(made: Made) -> None:
    made.watch(1)
    assert made.rows() == [(StreamTier.BORDER, True)]
    assert made.keys() == {made.inputs.probe_set}
    made.watch(A_DAY * 16)
    assert made.score_stream().bets is not None
    assert made.streams.states(made.endpoint.id).state.level is Level.QUIET

    made.others = 1.0
    made.watch(24)

    assert made.streams.states(made.endpoint.id).state.level is Level.DRIFT
    assert made.rows() == [(StreamTier.BORDER, True)]


def test_while_they_are_looked_for_and_where_there_are_none_no_scores_are_kept(made: Made) -> None:
    made.answer(PROMPTS[:3], 3)
    assert (made.keys(), made.rows()) == (set(), [])
    made.none()
    assert (made.keys(), made.rows()) == ({NONE}, [])
    made.watch(1)
    assert made.keys() == {made.inputs.probe_set}


def test_other_border_inputs_are_another_stream_in_their_place(made: Made) -> None:
    made.watch(3)
    before = made.keys()
    made.inputs = inputs_of(PROMPTS[30:50])
    made.watch(1)

    assert made.keys() == {made.inputs.probe_set} != before
    assert made.rows() == [(StreamTier.BORDER, False), (StreamTier.BORDER, True)]
    assert [one.why for one in made.streams.epochs(made.endpoint.id)] == [EpochEnd.REPLANNED, None]


def test_another_stack_of_ours_keeps_their_levels_and_takes_no_drift_into_them(made: Made) -> None:
    made.watch(A_DAY * 16)
    before = made.score_stream()
    made.others = 0.6
    made.watch(3)
    made.stack = "stack-2"
    made.watch(1)

    after = made.score_stream()
    assert after.bets is not None
    assert (after.baseline, after.calibration) == (before.baseline, before.calibration)
    (_, epoch) = made.streams.epochs(made.endpoint.id)
    assert [found.level is not None for found in epoch.against_first.values()] == [True]
    made.watch(40)
    assert made.streams.states(made.endpoint.id).state.level is Level.DRIFT


def test_answers_are_counted_until_they_are_enrolled_and_then_the_inputs_are_asked(made: Made) -> None:
    first = made.asked()
    assert isinstance(first, Enrolling)
    assert [ask.prompt for ask in first.asks] == PROMPTS[:SCREENED_ALONE]
    made.answer(PROMPTS[:4], 2)
    made.answer(PROMPTS[:2], 1)
    made.answer(PROMPTS[:9], 3, trigger=Trigger.CONFIRM)

    missing = made.asked()

    assert isinstance(missing, Enrolling)
    times = {ask.prompt: ask.times for ask in missing.asks}
    assert [times.get(prompt) for prompt in PROMPTS[:5]] == [None, None, 1, 1, 3]
    made.watch(1)
    assert made.asked() == made.inputs


def test_what_a_person_accepted_is_looked_for_anew_by_later_answers(made: Made) -> None:
    made.answer(PROMPTS[:4], 3)
    made.watch(2)
    made.streams.accept(made.endpoint.id, {}, note="they said so", actor="me", at=made.at)

    asked = made.asked()

    assert made.rows() == [(StreamTier.BORDER, False)]
    assert isinstance(asked, Enrolling)
    assert [ask.times for ask in asked.asks] == [3] * SCREENED_ALONE


def test_an_acceptance_before_any_enrolment_leaves_earlier_answers_out_too(made: Made) -> None:
    made.none()
    made.answer(PROMPTS[:4], 3)
    made.streams.accept(made.endpoint.id, {}, note="they said so", actor="me", at=made.at)
    made.at += timedelta(hours=1)
    made.answer(PROMPTS[:2], 1)

    asked = made.asked()

    assert isinstance(asked, Enrolling)
    assert [ask.times for ask in asked.asks][:5] == [2, 2, 3, 3, 3]


def test_answers_of_more_than_sixty_days_ago_are_forgotten(made: Made) -> None:
    made.answer(PROMPTS[:4], 3)
    made.at += timedelta(days=60)

    asked = made.asked()

    assert isinstance(asked, Enrolling)
    assert [ask.times for ask in asked.asks] == [3] * SCREENED_ALONE


def test_inputs_that_this_release_does_not_draw_are_looked_for_anew(made: Made) -> None:
    made.inputs = inputs_of([f"of another release {place}" for place in range(20)])
    made.watch(1)

    assert isinstance(made.asked(), Enrolling)
