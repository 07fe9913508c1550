"""A suspicion of the streams asks for answers that none of them has seen: three checks, then what was staked goes
back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from monitor.drift.decision import DRIFT_AT, SUSPECT_AT, Level
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import Combining, Evidence, Factors, Inapplicable, Null, Statement, StreamKey, Tier
from monitor.drift.rule import Verdict
from monitor.drift.score_stream import StreamRule
from monitor.standing import STREAMS
from monitor.store import CheckEntry, EndpointRecord, Queue, RunResult, RunStatus, Store, Trigger
from monitor.store.conclusion import Bearings, Ended, conclude
from monitor.store.escalations import CHECKS, escalated
from monitor.store.stream_records import EpochPlan, Fed
from monitor.store.streams import Streams
from probes.plan import ProbeKind
from tests.monitor.store.material import AT, start
from tests.monitor.store.queued import enqueued

BEARINGS = Bearings({}, (), False, timedelta(hours=1), {"probes": ["logprobs"], "n": 20})


@dataclass
class Made:
    """An endpoint whose draws are asked every half hour."""

    store: Store
    endpoint: EndpointRecord
    at: datetime = AT
    stack: str = "stack-1"

    @property
    def key(self) -> StreamKey:
        return StreamKey(self.endpoint.id, Tier.SAMPLING, "draws")

    @property
    def now(self) -> EndpointStreams:
        return Streams(self.store.sessions).states(self.endpoint.id)

    def check(self, says: Statement | float, entry: CheckEntry | None = None) -> CheckEntry | None:
        """A check whose draws say this, the one that waits or one by schedule; what waits after it."""
        queue = Queue(self.store.sessions)
        entered = enqueued(self.store, self.endpoint.id, f"at-{self.at}") if entry is None else entry
        claimed = queue.claim(entered.id, "w", self.at)
        assert claimed is not None
        begun = replace(
            start(self.endpoint.id, ProbeKind.SAMPLING), check_id=claimed.entry.id, trigger=claimed.entry.trigger
        )
        self.run_id = self.store.begin_run(begun, at=self.at, lease=claimed.lease)
        if isinstance(says, float):
            says = Factors((says,), Null.STATED, Combining.MULTIPLY)
        told = (Evidence(self.key, 0.0, says, 25), Evidence(self.key._replace(probe_set="draws/wider"), 0.0, says, 25))
        escalates = claimed.entry.trigger is Trigger.ESCALATE
        fed = Fed(self.stack, evidence=told, rounds_a_day=24, escalates=escalates)
        result = RunResult(RunStatus.SUCCEEDED, fed=fed)
        self.store.finish_run(self.run_id, result, at=self.at, lease=claimed.lease)
        with self.store.sessions.write() as session:
            waiting = conclude(session, claimed, Ended(RunStatus.SUCCEEDED), BEARINGS, (), self.at)
        self.at += timedelta(minutes=30)
        return None if waiting is None else queue.entry(waiting)

    def suspected(self) -> CheckEntry:
        """The first check that a suspicion asks for."""
        for _ in range(30):
            waiting = self.check(3.0)
            if waiting is not None:
                return waiting
        raise AssertionError(self.now.worth)


@pytest.fixture
def made(store: Store, endpoint: EndpointRecord) -> Made:
    return Made(store, endpoint)


def test_a_suspicion_asks_for_answers_of_its_own_by_the_probes_that_need_no_levels(made: Made) -> None:
    before = [made.check(1.0), made.check(1.0)]
    asked = made.suspected()

    assert before == [None, None]
    assert SUSPECT_AT <= made.now.worth < DRIFT_AT
    assert (asked.trigger, asked.options) == (Trigger.ESCALATE, {"probes": ["sampling"], "n": 20})
    assert asked.confirms is not None
    assert asked.deadline == asked.queued_at + timedelta(hours=1)
    assert list(made.now.escalation.streams) == [made.key]


def test_its_answers_go_to_the_escalation_alone_and_after_three_checks_the_stake_goes_back(made: Made) -> None:
    waiting: CheckEntry | None = made.suspected()
    streams, worth = made.now.streams, made.now.worth
    for count in range(1, CHECKS + 1):
        assert waiting is not None
        waiting = made.check(0.5, waiting)
        assert made.now.streams == streams
        if count < CHECKS:
            assert made.now.escalation.value == pytest.approx(0.5**count)
    assert waiting is None
    assert made.now.escalation.streams == {}
    assert made.now.state.staked == 0.0
    assert 0.5 * worth < made.now.worth < worth
    # The suspicion stays, and is not asked about twice.
    assert made.check(1.0) is None


def test_what_it_proves_is_drift(made: Made) -> None:
    waiting, streams = made.suspected(), made.now.streams
    made.check(200.0, waiting)

    assert made.now.state.level is Level.DRIFT
    assert made.now.streams == streams
    (told,) = (one for one in made.store.evidence(made.run_id) if one.metric == STREAMS)
    assert told.verdict is Verdict.DRIFT


def test_a_check_that_was_never_made_is_followed_by_the_next_one(made: Made) -> None:
    lost = made.suspected()
    made.at += timedelta(hours=3)
    assert Queue(made.store.sessions).claim(lost.id, "w", made.at) is None
    Queue(made.store.sessions).sweep(made.at)

    following = made.check(1.0)

    assert following is not None
    assert (following.trigger, following.id != lost.id) == (Trigger.ESCALATE, True)


def test_an_escalation_that_can_say_nothing_is_closed_at_once(made: Made) -> None:
    made.suspected()
    for _ in range(2):
        made.at += timedelta(hours=3)
        Queue(made.store.sessions).sweep(made.at)
        waiting = made.check(Inapplicable("no log-probabilities come any more"))

    assert waiting is None
    assert made.now.escalation.streams == {}


def test_answers_of_another_stack_are_said_to_nobody(made: Made) -> None:
    waiting = made.suspected()
    before = made.now
    made.stack = "stack-2"
    made.check(200.0, waiting)

    assert made.now == before


def test_an_epoch_that_planned_no_escalation_is_followed_by_one_that_does(made: Made) -> None:
    """As after an upgrade from a release that planned none."""
    made.check(1.0)
    streams = Streams(made.store.sessions)
    rules = {key: state.rule for key, state in made.now.streams.items()}
    streams.replan(made.endpoint.id, EpochPlan(made.stack, rules), at=made.at)
    assert dict(made.now.planned) == {}

    made.check(1.0)

    assert list(made.now.planned) == [made.key]


def test_streams_that_need_levels_are_not_asked_by_an_escalation() -> None:
    names = {"draws", "copies", "draws/wider", "near-ties", "greedy/short", "anchors", "cases"}
    tiers = (Tier.SAMPLING, Tier.GREEDY, Tier.LOGPROBS, Tier.CAPABILITY)
    rules = {StreamKey("e", tier, name): StreamRule() for tier in tiers for name in names}

    found = escalated(rules)

    assert {key.probe_set for key in found} == {"draws", "copies", "near-ties"}
    assert {key.tier for key in found} == {Tier.SAMPLING, Tier.GREEDY}
    assert {rule.horizon for rule in found.values()} == {1}
