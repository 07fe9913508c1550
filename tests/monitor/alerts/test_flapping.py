"""Flapping: said once, then silence until it is calm; at most twice a day."""

from __future__ import annotations

import pytest

from monitor.alerts.events import EventKind
from monitor.alerts.signals import BaselineAccepted
from monitor.alerts.states import AlertState
from monitor.drift.rule import Verdict
from tests.monitor.alerts.signals import Machine, slot, verdict

K = EventKind


def test_the_fourth_turn_within_a_day_is_flapping_and_not_resolved() -> None:
    machine = Machine().see(0, "ddooo" * 2)

    assert machine.notices == [K.FIRED, K.RESOLVED, K.FIRED, K.FLAPPING]
    assert machine.state is AlertState.RECOVERING


def test_turns_a_day_apart_are_episodes() -> None:
    machine = Machine()

    for day in range(4):
        machine.see(day * 96, "ddddooo")

    assert machine.notices == [K.FIRED, K.RESOLVED] * 4


def test_verdicts_that_change_all_the_time_are_flapping_though_nothing_resolved() -> None:
    machine = Machine().see(0, "dd" + "od" * 8)

    assert machine.notices == [K.FIRED, K.FLAPPING]


def test_it_is_calm_after_a_day_and_six_quiet_intervals_and_resolves_then() -> None:
    machine = Machine().see(0, "ddooo" * 2)

    early = machine.see(10, "o" * 90 + "do" + "o" * 5).state
    machine.see(107, "o")

    assert (early, machine.state) == (AlertState.RECOVERING, AlertState.RESOLVED)
    assert machine.notices[-2:] == [K.FLAPPING, K.RESOLVED]


def test_a_steady_drift_after_flapping_is_told() -> None:
    machine = Machine().see(0, "ddooo" * 2).see(10, "d" * 97)

    assert machine.state is AlertState.FIRING
    assert machine.notices[-2:] == [K.FLAPPING, K.CALM]


@pytest.mark.parametrize(("settled", "verdicts"), [("o", "dd"), ("d", "ooo")])
def test_a_turn_within_a_day_after_it_was_calm_is_flapping_again(settled: str, verdicts: str) -> None:
    machine = Machine().see(0, "ddooo" * 2).see(10, settled * 100)
    told = len(machine.notices)

    machine.see(110, verdicts)

    assert machine.notices[told:] == [K.FLAPPING]


def test_a_turn_a_day_after_it_was_calm_is_an_episode() -> None:
    machine = Machine().see(0, "ddooo" * 2).see(10, "o" * 200)
    told = len(machine.notices)

    machine.see(210, "ddooo")

    assert machine.notices[told:] == [K.FIRED, K.RESOLVED]


def test_maintenance_counts_for_nothing() -> None:
    verdicts = [Verdict.DRIFT, Verdict.DRIFT, Verdict.OK, Verdict.OK, Verdict.OK]
    machine = Machine()

    for number in range(40):
        machine(verdict(number, verdicts[number % 5], maintenance=True))

    assert K.FLAPPING not in machine.kinds


def test_what_a_person_ended_starts_afresh() -> None:
    machine = Machine().see(0, "ddooo" * 2)(BaselineAccepted(slot(10), "alice", "as announced"))

    machine.see(11, "dd")

    assert machine.notices[-2:] == [K.BASELINE_ACCEPTED, K.FIRED]
