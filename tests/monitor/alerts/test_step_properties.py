"""What holds of the alert machine whatever happens."""

from __future__ import annotations

import json
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.alerts.core import AlertCore
from monitor.alerts.events import Event, EventKind, Stepped
from monitor.alerts.rule import AlertRule
from monitor.alerts.signals import (
    Acked,
    BaselineAccepted,
    Commented,
    Failed,
    ResolvedByHand,
    RuleChanged,
    Signal,
    Tick,
    Unacked,
    Verdicted,
    Widened,
)
from monitor.alerts.states import AlertState
from monitor.alerts.step import step
from monitor.drift.rule import Verdict
from tests.monitor.alerts.signals import AT, AVAILABILITY, DRIFT, NO_DATA

K = EventKind

times = st.integers(-5, 400).map(lambda minutes: AT + timedelta(minutes=3 * minutes))
checks = st.integers(0, 60).map(lambda number: f"chk_{number}")
who = st.sampled_from(["alice", "bob"])
verdicts = st.sampled_from([Verdict.DRIFT, Verdict.DRIFT, Verdict.OK, Verdict.OK, *Verdict])
measured: st.SearchStrategy[Signal] = st.one_of(
    st.builds(Verdicted, checks, times, st.just("logprobs"), verdicts, st.booleans(), st.booleans()),
    st.builds(Failed, checks, times, st.just("provider_auth")),
    st.builds(lambda at, quiet: Tick(at, at - quiet), times, st.timedeltas(timedelta(0), timedelta(hours=2))),
)
decided: st.SearchStrategy[Signal] = st.one_of(
    st.builds(Acked, times, who),
    st.builds(Unacked, times, who),
    st.builds(ResolvedByHand, times, who),
    st.builds(Commented, times, who, st.just("words")),
    st.builds(BaselineAccepted, times, who, st.just("note")),
    st.builds(RuleChanged, times, who),
    st.builds(Widened, times, st.just("accounting")),
)
rules = st.sampled_from([DRIFT, AVAILABILITY, NO_DATA])
in_any_order = st.lists(st.one_of(measured, measured, measured, decided), max_size=60)
in_order = in_any_order.map(lambda signals: sorted(signals, key=lambda signal: signal.at))
histories = st.one_of(in_any_order, in_order)


def episodes(rule: AlertRule, signals: list[Signal]) -> list[list[Event]]:
    """The events of each episode."""
    found: list[list[Event]] = []
    core = None
    for signal in signals:
        stepped = step(core, signal, rule)
        core = stepped.core
        for event in stepped.events:
            if event.kind is K.OPENED:
                found.append([])
            found[-1].append(event)
    return found


@settings(max_examples=100)
@given(rules, histories)
def test_an_episode_is_one_unbroken_way_and_only_the_last_may_be_open(rule: AlertRule, signals: list[Signal]) -> None:
    found = episodes(rule, signals)

    for number, events in enumerate(found):
        assert [event.from_state for event in events] == [None, *(event.to_state for event in events[:-1])]
        over = [event.to_state is AlertState.RESOLVED for event in events]
        assert over == [False] * (len(events) - 1) + [number < len(found) - 1 or over[-1]]


@settings(max_examples=100)
@given(rules, histories)
def test_nothing_is_told_before_it_fired_and_the_end_of_what_fired_always_is(
    rule: AlertRule, signals: list[Signal]
) -> None:
    for events in episodes(rule, signals):
        kinds = [event.kind for event in events]
        assert kinds.count(K.FIRED) <= 1
        before = events[: kinds.index(K.FIRED)] if K.FIRED in kinds else events
        assert [event.kind for event in before if event.notice] == []
        assert K.RESOLVED not in [event.kind for event in before]
        if K.FIRED in kinds and events[-1].to_state is AlertState.RESOLVED:
            assert events[-1].notice
            assert K.CLOSED not in kinds


@settings(max_examples=100)
@given(rules, histories)
def test_a_measurement_that_comes_again_changes_nothing(rule: AlertRule, signals: list[Signal]) -> None:
    core = None
    applied: list[Signal] = []
    for signal in signals:
        core = step(core, signal, rule).core
        if not isinstance(signal, Verdicted | Failed | Tick):
            continue
        assert step(core, signal, rule) == Stepped(core)
        if core is not None and isinstance(signal, Verdicted | Failed) and signal.check_id in core.checks:
            applied.append(signal)
        assert all(step(core, one, rule) == Stepped(core) for one in applied)


@settings(max_examples=100)
@given(rules, in_any_order)
def test_the_times_of_events_never_go_back(rule: AlertRule, signals: list[Signal]) -> None:
    for events in episodes(rule, signals):
        times_of = [event.at for event in events]
        assert times_of == sorted(times_of)


@settings(max_examples=100)
@given(rules, in_order)
def test_the_state_survives_its_way_through_json_at_every_step(rule: AlertRule, signals: list[Signal]) -> None:
    core = None
    for signal in signals:
        stored = None if core is None else AlertCore.from_json(json.loads(json.dumps(core.to_json())))
        assert stored == core
        assert step(stored, signal, rule) == step(core, signal, rule)
        core = step(core, signal, rule).core


@settings(max_examples=100)
@given(in_order)
def test_drift_fires_only_by_a_second_check_that_found_it_on_fresh_prompts(signals: list[Signal]) -> None:
    core = None
    for signal in signals:
        before, stepped = core, step(core, signal, DRIFT)
        core = stepped.core
        if any(event.kind is K.FIRED for event in stepped.events):
            assert isinstance(signal, Verdicted)
            assert signal.verdict is Verdict.DRIFT
            # What many rounds prove holds by itself.
            if signal.proven:
                continue
            assert signal.fresh
            assert before is not None
            assert before.state is AlertState.PENDING
            assert before.suspected_by not in (None, signal.check_id)
