"""The alert machine: what opens, fires, clears, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.alerts.events import EventKind
from monitor.alerts.rule import AlertRule
from monitor.alerts.signals import (
    Acked,
    BaselineAccepted,
    Commented,
    ResolvedByHand,
    RuleChanged,
    Unacked,
    Widened,
)
from monitor.alerts.states import AlertState, Severity
from monitor.drift.rule import Verdict
from tests.monitor.alerts.signals import AVAILABILITY, DRIFT, NO_DATA, Machine, failed, slot, tick, verdict

K = EventKind


def firing(rule: AlertRule = DRIFT) -> Machine:
    return Machine(rule).see(0, "dd")


@pytest.mark.parametrize("verdicts", ["", "o", "?", "oo?o"])
def test_nothing_found_is_no_alert(verdicts: str) -> None:
    machine = Machine().see(0, verdicts)

    assert (machine.core, machine.events) == (None, [])


def test_a_drift_waits_until_another_check_confirms_it_on_fresh_prompts() -> None:
    machine = Machine()

    stale = [machine(verdict(number, Verdict.DRIFT, fresh=False)).state for number in range(2)]
    machine(verdict(2, Verdict.DRIFT, fresh=True))

    assert [*stale, machine.state] == [AlertState.PENDING, AlertState.PENDING, AlertState.FIRING]
    assert machine.notices == [K.FIRED]
    assert machine.core is not None
    assert machine.core.evidence == ("chk_0", "chk_2")
    assert (machine.core.opened_at, machine.core.fired_at) == (slot(0), slot(2))


def test_a_check_does_not_confirm_itself() -> None:
    machine = Machine()(verdict(0, Verdict.DRIFT))

    machine(replace(verdict(1, Verdict.DRIFT), check_id="chk_0"))

    assert machine.state is AlertState.PENDING


@pytest.mark.parametrize(("verdicts", "state"), [("ssssssss", "pending"), ("sd", "pending"), ("sdd", "firing")])
def test_suspicion_opens_and_never_fires_by_itself(verdicts: str, state: str) -> None:
    assert Machine().see(0, verdicts).state == state


@pytest.mark.parametrize("between", ["?", "s", "???"])
def test_what_concludes_nothing_leaves_a_drift_waiting(between: str) -> None:
    assert Machine().see(0, f"d{between}d").state is AlertState.FIRING


def test_a_drift_that_is_not_confirmed_closes_without_a_word() -> None:
    machine = Machine().see(0, "do")

    assert machine.kinds == [K.OPENED, K.CLOSED]
    assert machine.notices == []
    assert machine.see(2, "d").state is AlertState.PENDING


def test_it_resolves_after_enough_good_checks_in_a_row() -> None:
    machine = firing()

    states = [machine.see(2 + number, "o").state for number in range(3)]

    assert states == [AlertState.RECOVERING, AlertState.RECOVERING, AlertState.RESOLVED]
    assert machine.notices == [K.FIRED, K.RESOLVED]
    assert machine.kinds == [K.OPENED, K.FIRED, K.RECOVERING, K.RESOLVED]


def test_what_concludes_nothing_neither_breaks_nor_makes_a_streak() -> None:
    assert firing().see(2, "o?o?").state is AlertState.RECOVERING
    assert firing().see(2, "o?o?o").state is AlertState.RESOLVED


def test_suspicion_breaks_the_streak() -> None:
    assert firing().see(2, "oosoo").state is AlertState.RECOVERING
    assert firing().see(2, "oosooo").state is AlertState.RESOLVED


def test_drift_while_recovering_is_no_news() -> None:
    machine = firing().see(2, "ood")

    assert machine.state is AlertState.FIRING
    assert machine.notices == [K.FIRED]
    assert machine.kinds[-1] is K.REFIRED


def test_it_goes_on_for_as_many_intervals_as_the_rule_says() -> None:
    machine = firing(replace(DRIFT, clear_for=1, keep_firing_for=4))

    assert machine.see(2, "ooo").state is AlertState.RECOVERING
    assert machine.see(5, "o").state is AlertState.RESOLVED


def test_the_next_episode_is_another_alert() -> None:
    machine = firing().see(2, "ooo")
    first = machine.core

    machine.see(5, "dd")

    assert first is not None
    assert machine.core is not None
    assert (first.state, machine.state) == (AlertState.RESOLVED, AlertState.FIRING)
    assert machine.core.opened_at == slot(5)
    assert machine.kinds.count(K.OPENED) == 2


def test_failed_checks_in_a_row_make_an_availability_alert_and_say_nothing_of_quality() -> None:
    quality, available = Machine(DRIFT), Machine(AVAILABILITY)

    for machine in (quality, available):
        machine(failed(0), failed(1))

    assert quality.core is None
    assert available.state is AlertState.ERROR
    assert available.notices == [K.FIRED]


def test_one_failed_check_is_forgotten_with_the_next_verdict() -> None:
    machine = Machine(AVAILABILITY)(failed(0), verdict(1, Verdict.INCONCLUSIVE), failed(2), verdict(3, Verdict.DRIFT))

    assert machine.notices == []
    assert machine.state is AlertState.RESOLVED


def test_any_verdict_shows_that_the_endpoint_answers() -> None:
    machine = Machine(AVAILABILITY)(failed(0), failed(1), verdict(2, Verdict.DRIFT), verdict(3, Verdict.INCONCLUSIVE))

    assert machine.notices == [K.FIRED, K.RESOLVED]


@pytest.mark.parametrize("found", [Verdict.SUSPECT, Verdict.DRIFT])
def test_that_more_requests_fail_is_a_doubt_of_availability_and_nothing_to_the_rule_of_drift(found: Verdict) -> None:
    shaken = [replace(verdict(number, found), metric="tool_calls.availability") for number in range(4)]

    assert Machine(DRIFT)(*shaken).core is None
    available = Machine(AVAILABILITY)(*shaken)
    assert (available.state, available.notices) == (AlertState.PENDING, [])
    assert available(verdict(5, Verdict.OK)).state is AlertState.RESOLVED


def test_an_endpoint_that_did_not_answer_and_still_fails_often_is_not_over_it() -> None:
    shaken = [replace(verdict(number, Verdict.SUSPECT), metric="agent_loops.availability") for number in range(2, 5)]

    machine = Machine(AVAILABILITY)(failed(0), failed(1), *shaken)

    assert machine.state is AlertState.ERROR


def test_silence_is_told_once_and_ends_with_a_verdict() -> None:
    machine = Machine(NO_DATA)(tick(2.9, quiet_since=0))
    assert machine.core is None

    machine(tick(3, quiet_since=0), tick(4, quiet_since=0), failed(4.5), tick(5, quiet_since=0))
    assert (machine.state, machine.notices) == (AlertState.NO_DATA, [K.FIRED])

    machine(verdict(6, Verdict.INCONCLUSIVE))
    assert machine.notices == [K.FIRED, K.RESOLVED]


def test_silence_and_failures_leave_a_firing_alert_open() -> None:
    machine = firing()
    before = machine.core

    machine(tick(50, quiet_since=1), failed(51), failed(52))

    assert machine.core == before


def test_an_older_measurement_changes_nothing() -> None:
    machine = firing()(verdict(5, Verdict.DRIFT))
    before = machine.core

    assert machine(verdict(3, Verdict.OK)).core == before


def test_a_drift_is_confirmed_by_a_host_whose_clock_is_a_little_behind() -> None:
    machine = Machine()(verdict(0, Verdict.DRIFT))
    confirming = replace(verdict(1, Verdict.DRIFT), at=slot(0) - timedelta(seconds=30))

    assert machine(confirming).state is AlertState.FIRING


def test_an_acknowledgement_ends_with_a_rise_of_the_severity() -> None:
    machine = firing(replace(DRIFT, severity=Severity.WARNING))(Acked(slot(2), "alice", "looking"))
    assert machine.notices == [K.FIRED, K.ACKED]

    machine.rule = DRIFT
    machine.see(3, "d")

    assert machine.core is not None
    assert (machine.core.acked_at, machine.core.severity) == (None, Severity.CRITICAL)
    assert machine.kinds[-2:] == [K.ESCALATED, K.REOPENED]
    assert machine.notices[2:] == [K.ESCALATED]


def test_an_acknowledgement_ends_with_another_metric() -> None:
    machine = firing()(Acked(slot(2), "alice"), Widened(slot(3), "accounting"))

    assert machine.core is not None
    assert machine.core.acked_by is None
    assert (machine.notices[-1], machine.events[-1].reason) == (K.REOPENED, "accounting fired too")


def test_an_acknowledgement_outlives_what_is_no_news() -> None:
    machine = firing()(Acked(slot(2), "alice")).see(3, "dood")

    assert machine.core is not None
    assert machine.core.acked_by == "alice"


def test_saying_it_twice_changes_nothing() -> None:
    machine = firing()(Acked(slot(2), "alice"), Acked(slot(3), "bob"), Unacked(slot(4), "bob"), Unacked(slot(5), "bob"))

    assert machine.kinds[2:] == [K.ACKED, K.UNACKED]
    assert [event.actor for event in machine.events[2:]] == ["alice", "bob"]


@pytest.mark.parametrize(
    ("signal", "kind"),
    [
        (ResolvedByHand(slot(2), "alice", "rolled back"), K.RESOLVED),
        (BaselineAccepted(slot(2), "alice", "they announced it"), K.BASELINE_ACCEPTED),
        (RuleChanged(slot(2), "config"), K.RULE_CHANGED),
    ],
)
def test_what_ends_a_fired_alert_is_told_and_names_who(
    signal: ResolvedByHand | BaselineAccepted | RuleChanged, kind: EventKind
) -> None:
    machine = firing()(signal)

    assert machine.state is AlertState.RESOLVED
    assert machine.notices == [K.FIRED, kind]
    assert machine.events[-1].actor == signal.actor
    assert machine.core is not None
    assert machine.core.resolved_at == slot(2)


def test_what_ends_a_waiting_alert_is_not_told() -> None:
    machine = Machine().see(0, "d")(ResolvedByHand(slot(1), "alice"))

    assert (machine.kinds[-1], machine.notices) == (K.CLOSED, [])


def test_accepting_a_baseline_does_not_make_an_endpoint_answer() -> None:
    machine = Machine(AVAILABILITY)(failed(0), failed(1), BaselineAccepted(slot(2), "alice", "fine"))

    assert machine.state is AlertState.ERROR


def test_a_comment_is_kept_and_a_resolved_alert_takes_none() -> None:
    machine = firing()(Commented(slot(2), "alice", "asked them"))
    assert (machine.kinds[-1], machine.events[-1].reason) == (K.COMMENTED, "asked them")

    over = machine.see(3, "ooo")
    before = over.core, len(over.events)
    over(Commented(slot(9), "alice", "late"), Acked(slot(9), "alice"), ResolvedByHand(slot(9), "alice"))

    assert (over.core, len(over.events)) == before
