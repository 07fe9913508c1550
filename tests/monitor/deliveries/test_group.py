"""When a group of alerts is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alerts.states import AlertState, Severity
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.group import Decision, Group, Hold, Member, Timing, decide, joined
from monitor.deliveries.notice import NoticeType, Reason
from tests.monitor.deliveries.material import AT, alert, resolved

TIMING = Timing(wait=timedelta(seconds=30), interval=timedelta(minutes=5), repeat=timedelta(hours=24))
LATER = AT + timedelta(minutes=10)


def told(*ids: str, at: datetime = AT, members: Iterable[str] = ()) -> Group:
    """A group that was told of these alerts at `at`."""
    known = dict.fromkeys(ids, Severity.CRITICAL)
    return Group(tuple(dict.fromkeys([*ids, *members])), known, (), at, AT - timedelta(hours=1), at)


def fresh(*ids: str) -> Group:
    return Group(ids, {}, (), None, AT - TIMING.wait, AT)


def members(*alerts: AlertFacts, hold: Hold | None = None) -> list[Member]:
    return [Member(entry, frozenset() if hold is None else frozenset([hold])) for entry in alerts]


def ids(decision: Decision) -> list[str]:
    return [entry.id for entry in decision.alerts]


def test_the_first_notice_waits_for_others_of_the_group() -> None:
    group = joined(None, "alr_0001", TIMING, AT)
    group = joined(group, "alr_0002", TIMING, AT + timedelta(seconds=20))

    assert group.due_at == AT + timedelta(seconds=30)
    assert group.members == ("alr_0001", "alr_0002")


def test_a_firing_group_is_told_once() -> None:
    decision = decide(fresh("alr_0001"), members(alert(1)), TIMING, AT)
    again = decide(decision.group, members(alert(1)), TIMING, LATER)

    assert (decision.reason, ids(decision)) == (Reason.FIRST, ["alr_0001"])
    assert (again.reason, again.group.due_at) == (None, AT + TIMING.repeat)


def test_a_new_alert_in_a_told_group_waits_for_the_interval_and_brings_the_others_along() -> None:
    group = joined(told("alr_0001"), "alr_0002", TIMING, AT + timedelta(minutes=1))
    decision = decide(group, members(alert(1), alert(2)), TIMING, AT + TIMING.interval)

    assert group.due_at == AT
    assert (decision.reason, ids(decision)) == (Reason.NEW_ALERTS, ["alr_0001", "alr_0002"])


def test_an_alert_is_told_again_when_it_becomes_more_severe() -> None:
    group = replace(told("alr_0001"), told_firing={"alr_0001": Severity.WARNING})

    assert decide(group, members(alert(1, severity=Severity.WARNING)), TIMING, LATER).reason is None
    assert decide(group, members(alert(1)), TIMING, LATER).reason is Reason.NEW_ALERTS


def test_the_end_of_one_of_two_alerts_is_told_with_the_one_that_goes_on() -> None:
    decision = decide(told("alr_0001", "alr_0002"), members(alert(1), resolved(2)), TIMING, LATER)

    assert (decision.reason, ids(decision)) == (Reason.NEW_RESOLVED, ["alr_0001", "alr_0002"])
    assert decision.group.members == ("alr_0001",)


def test_the_end_of_all_is_told_and_empties_the_group() -> None:
    decision = decide(told("alr_0001"), members(resolved(1)), TIMING, LATER)

    assert (decision.reason, ids(decision)) == (Reason.ALL_RESOLVED, ["alr_0001"])
    assert (decision.group.members, decision.group.due_at) == ((), None)


def test_an_alert_that_is_over_before_it_was_told_is_nobodys_business() -> None:
    decision = decide(fresh("alr_0001"), members(resolved(1)), TIMING, AT)

    assert (decision.reason, decision.group.members, decision.group.due_at) == (None, (), None)


def test_what_the_group_never_heard_of_is_not_told_as_resolved_with_the_rest() -> None:
    decision = decide(told("alr_0001", members=["alr_0002"]), members(resolved(1), resolved(2)), TIMING, LATER)

    assert (decision.reason, ids(decision)) == (Reason.ALL_RESOLVED, ["alr_0001"])


def test_an_alert_that_goes_on_is_repeated() -> None:
    before = decide(told("alr_0001"), members(alert(1)), TIMING, AT + TIMING.repeat - timedelta(seconds=1))
    after = decide(told("alr_0001"), members(alert(1)), TIMING, AT + TIMING.repeat)

    assert (before.reason, after.reason) == (None, Reason.REPEAT)
    assert after.group.due_at == AT + 2 * TIMING.repeat


@pytest.mark.parametrize("hold", [hold for hold in Hold if hold is not Hold.FLAPPING])
def test_a_held_alert_is_not_told_and_not_repeated(hold: Hold) -> None:
    first = decide(fresh("alr_0001"), members(alert(1), hold=hold), TIMING, AT)
    repeat = decide(told("alr_0001"), members(alert(1), hold=hold), TIMING, AT + TIMING.repeat)

    assert (first.reason, repeat.reason) == (None, None)
    assert first.group.members == ("alr_0001",)
    assert "alr_0001" in repeat.group.told_firing


def test_flapping_is_told_once_in_place_of_the_first_notice_and_once_when_it_is_calm() -> None:
    flaps = decide(fresh("alr_0001"), members(alert(1), hold=Hold.FLAPPING), TIMING, AT)
    on = decide(flaps.group, members(alert(1), hold=Hold.FLAPPING), TIMING, LATER)
    calm = decide(on.group, members(alert(1)), TIMING, LATER + TIMING.repeat)
    still = decide(calm.group, members(alert(1)), TIMING, LATER + TIMING.repeat + TIMING.interval)

    assert [(one.reason, ids(one)) for one in (flaps, calm)] == [(Reason.FLAPPING, ["alr_0001"])] * 2
    assert (on.reason, still.reason) == (None, None)
    assert decide(on.group, members(resolved(1)), TIMING, LATER).reason is Reason.ALL_RESOLVED


def test_flapping_waits_for_the_next_notice_where_another_alert_fires() -> None:
    both = [*members(alert(1), hold=Hold.FLAPPING), *members(alert(2))]
    fires = decide(fresh("alr_0001", "alr_0002"), both, TIMING, AT)
    flaps = decide(fires.group, both, TIMING, AT + TIMING.interval)

    assert (fires.reason, ids(fires), fires.group.due_at) == (Reason.FIRST, ["alr_0002"], AT + TIMING.interval)
    assert (flaps.reason, ids(flaps)) == (Reason.FLAPPING, ["alr_0001"])


def test_a_channel_that_does_not_listen_to_flapping_was_not_told_of_what_flaps() -> None:
    heard = [NoticeType.FIRING, NoticeType.RESOLVED]
    flaps = decide(fresh("alr_0001"), members(alert(1), hold=Hold.FLAPPING), TIMING, AT, heard)
    calm = decide(flaps.group, members(alert(1)), TIMING, LATER, heard)

    assert (flaps.reason, calm.reason) == (None, Reason.FIRST)
    assert decide(flaps.group, members(resolved(1)), TIMING, LATER, heard).reason is None


@pytest.mark.parametrize("hold", [Hold.ACKED, Hold.INHIBITED, Hold.FLAPPING, Hold.UNROUTED])
def test_the_end_of_an_announced_alert_is_told_although_it_was_held(hold: Hold) -> None:
    decision = decide(told("alr_0001"), members(resolved(1), hold=hold), TIMING, LATER)

    assert decision.reason is Reason.ALL_RESOLVED


@pytest.mark.parametrize("hold", [Hold.SILENCED, Hold.MAINTENANCE])
def test_the_end_of_a_silenced_alert_is_told_when_the_silence_ends(hold: Hold) -> None:
    quiet = decide(told("alr_0001"), members(resolved(1), hold=hold), TIMING, LATER)
    after = decide(quiet.group, members(resolved(1)), TIMING, LATER + TIMING.interval)

    assert (quiet.reason, quiet.group.due_at) == (None, LATER + TIMING.interval)
    assert (after.reason, after.group.members) == (Reason.ALL_RESOLVED, ())


def test_an_alert_that_comes_after_all_were_over_waits_as_the_first_one_did() -> None:
    empty = decide(told("alr_0001"), members(resolved(1)), TIMING, LATER).group
    group = joined(empty, "alr_0002", TIMING, LATER + timedelta(minutes=1))

    assert group.due_at == LATER + timedelta(minutes=1) + TIMING.wait
    assert decide(group, members(alert(2)), TIMING, LATER + timedelta(hours=1)).reason is Reason.FIRST


@dataclass
class Life:
    """A group over time, flushed whenever it is due, and what its channel heard."""

    now: datetime = AT
    group: Group | None = None
    alerts: dict[str, AlertFacts] = field(default_factory=dict)
    holds: dict[str, frozenset[Hold]] = field(default_factory=dict)
    heard: list[Decision] = field(default_factory=list)

    def happen(self, number: int, action: str) -> None:
        name = f"alr_{number:04}"
        if action == "fire" and name not in self.alerts:
            self._put(alert(number, severity=Severity.WARNING))
        elif name not in self.alerts:
            return
        elif action == "escalate" and self.alerts[name].open:
            self._put(replace(self.alerts[name], severity=Severity.CRITICAL))
        elif action == "resolve" and self.alerts[name].open:
            self._put(replace(self.alerts[name], state=AlertState.RESOLVED, resolved_at=self.now))
        elif action == "free":
            self._hold(name, frozenset())
        elif action in list(Hold):
            self._hold(name, self.holds[name] | {Hold(action)})

    def _put(self, entry: AlertFacts) -> None:
        self.alerts[entry.id] = entry
        self.holds.setdefault(entry.id, frozenset())
        self.group = joined(self.group, entry.id, TIMING, self.now)

    def _hold(self, name: str, holds: frozenset[Hold]) -> None:
        # Acknowledging and flapping are steps of the alert, which wake its group; the others begin and end unseen.
        woken = (self.holds[name] ^ holds) & {Hold.ACKED, Hold.FLAPPING}
        self.holds[name] = holds
        if woken and self.group is not None and name in self.group.members:
            self.group = joined(self.group, name, TIMING, self.now)

    def wait(self, minutes: int) -> None:
        end = self.now + timedelta(minutes=minutes)
        while self.group is not None and self.group.due_at is not None and self.group.due_at <= end:
            self.now = max(self.now, self.group.due_at)
            present = [Member(self.alerts[name], self.holds[name]) for name in self.group.members]
            decision = decide(self.group, present, TIMING, self.now)
            assert decision.group.due_at is None or decision.group.due_at > self.now
            if decision.reason:
                self.heard.append(decision)
            self.group = decision.group
        self.now = end


ACTIONS = st.sampled_from(["fire", "fire", "resolve", "escalate", "free", *(hold.value for hold in Hold)])
HAPPENINGS = st.lists(st.tuples(st.integers(1, 4), ACTIONS, st.sampled_from([0, 0, 1, 4, 6, 60, 1500])), max_size=40)


@given(HAPPENINGS)
def test_whatever_happens_each_firing_is_resolved_once_and_no_resolve_comes_unannounced(
    happenings: list[tuple[int, str, int]],
) -> None:
    life = Life()
    for number, action, minutes in happenings:
        life.happen(number, action)
        life.wait(minutes)
    for number in range(1, 5):
        life.happen(number, "free")
    life.wait(60)
    still_open = {name for name, entry in life.alerts.items() if entry.open}
    heard_open = set() if life.group is None else set(life.group.told_firing)
    for number in range(1, 5):
        life.happen(number, "resolve")
    life.wait(60)

    assert heard_open == still_open
    assert life.group is None or not life.group.told_flapping
    announced: set[str] = set()
    for decision in life.heard:
        over = [entry.id for entry in decision.alerts if entry.resolved]
        assert set(over) <= announced
        announced = announced - set(over) | {entry.id for entry in decision.alerts if entry.open}
    assert announced == set()
    assert life.group is None or (life.group.members, life.group.due_at) == ((), None)


@given(HAPPENINGS)
def test_nothing_is_told_of_an_alert_while_it_is_held(happenings: list[tuple[int, str, int]]) -> None:
    life = Life()
    for number, action, minutes in happenings:
        life.happen(number, action)
        before = len(life.heard)
        life.wait(minutes)
        for decision in life.heard[before:]:
            allowed = {Hold.FLAPPING, Hold.ACKED} if decision.reason is Reason.FLAPPING else set()
            assert [entry.id for entry in decision.alerts if entry.open and life.holds[entry.id] - allowed] == []


@given(HAPPENINGS)
def test_notices_of_one_group_keep_their_distance(happenings: list[tuple[int, str, int]]) -> None:
    life = Life()
    for number, action, minutes in happenings:
        life.happen(number, action)
        life.wait(minutes)

    times = [decision.group.told_at for decision in life.heard]
    emptied = [not decision.group.members for decision in life.heard]
    for first, second, was_emptied in zip(times, times[1:], emptied, strict=False):
        assert first is not None
        assert second is not None
        assert second - first >= (TIMING.wait if was_emptied else TIMING.interval)
