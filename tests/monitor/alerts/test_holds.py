"""What holds notices back: silences, maintenance windows, and larger faults that explain an alert."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from monitor.alerts.holds import Silence, holds_of, maintenance_of
from monitor.alerts.inhibit import Conditions, MovedControl, Subject, inhibited_by
from monitor.alerts.rule import Watch
from monitor.alerts.states import AlertState
from monitor.config.service import Maintenance
from tests.monitor.alerts.signals import AT

LOCAL = datetime(2026, 11, 29, 11, 0)  # noqa: DTZ001 - in the zone of its window
LABELS = {"provider": "acme", "model": "smol", "endpoint": "ep_1", "rule": "drift", "severity": "critical"}
DRIFTING = Subject("alr_1", Watch.DRIFT, AlertState.FIRING, LABELS)
CONTROL = MovedControl("ep_control", "smol", None, AT)
HOUR = timedelta(hours=1)


def failing(error: str, state: AlertState = AlertState.ERROR, **labels: str) -> Subject:
    return Subject("alr_2", Watch.AVAILABILITY, state, {**LABELS, **labels}, error)


def silence(matchers: dict[str, str] | None = None, hours: float = 1) -> Silence:
    return Silence("sil_1", matchers or {"provider": "acme"}, AT, AT + timedelta(hours=hours))


@pytest.mark.parametrize(
    ("matchers", "covered"),
    [
        ({"provider": "acme"}, True),
        ({"provider": "ac*", "severity": "critical"}, True),
        ({"provider": "acme", "severity": "warning"}, False),
        ({"provider": "ACME"}, False),
        ({"provider": "acm"}, False),
        ({"tier": "*"}, False),
        ({"provider": "*"}, True),
    ],
)
def test_a_silence_covers_what_its_matchers_fit(matchers: dict[str, str], covered: bool) -> None:
    assert silence(matchers).covers(LABELS, AT) is covered


def test_a_silence_has_a_beginning_and_an_end() -> None:
    over = timedelta(hours=1)

    assert [silence().covers(LABELS, AT + passed) for passed in (-over, timedelta(0), over)] == [False, True, False]


def test_a_window_recurs_in_its_own_time_zone_whatever_the_season() -> None:
    window = Maintenance.model_construct(
        id="sundays",
        match={"provider": "acme"},
        rrule="FREQ=WEEKLY;BYDAY=SU;BYHOUR=2",
        tz="America/New_York",
        duration=7200.0,
    )

    def is_open(month: int, day: int, hour: int) -> bool:
        return maintenance_of([window], LABELS, datetime(2026, month, day, hour, 30, tzinfo=UTC)) is not None

    assert [is_open(7, 5, hour) for hour in (5, 6, 7, 8)] == [False, True, True, False]
    assert [is_open(12, 6, hour) for hour in (6, 7, 8, 9)] == [False, True, True, False]
    assert not is_open(7, 6, 6)
    assert maintenance_of([window], {"provider": "umbrella"}, datetime(2026, 7, 5, 6, 30, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("conditions", "inhibitor"),
    [
        (Conditions(offline=True), "connectivity"),
        (Conditions(unhealthy_references=frozenset({"smol"})), "reference"),
        (Conditions(moved_controls=(CONTROL,)), "control"),
        (Conditions(moved_controls=(replace(CONTROL, model="large"),)), None),
        (Conditions(unhealthy_references=frozenset({"large"})), None),
        (Conditions(), None),
    ],
)
def test_faults_of_ours_speak_for_what_they_explain(conditions: Conditions, inhibitor: str | None) -> None:
    assert inhibited_by(DRIFTING, (), conditions) == inhibitor


@pytest.mark.parametrize(
    ("since", "until", "explained"),
    [(0, 3, True), (1, 2, True), (None, 2, True), (3, 4, True), (0, 0.5, False), (5, 6, False), (None, 0.5, False)],
)
def test_a_control_explains_what_may_have_come_when_it_moved(
    since: float | None, until: float, explained: bool
) -> None:
    control = replace(CONTROL, since=AT + HOUR, until=AT + 4 * HOUR)
    came = replace(DRIFTING, since=None if since is None else AT + since * HOUR, until=AT + until * HOUR)

    assert control.explains(came) is explained


def test_a_control_that_moved_speaks_for_itself() -> None:
    own = replace(DRIFTING, labels={**LABELS, "endpoint": CONTROL.endpoint})

    assert inhibited_by(own, (), Conditions(moved_controls=(CONTROL,))) is None


def test_only_being_offline_speaks_for_an_endpoint_that_does_not_answer() -> None:
    ours = Conditions(unhealthy_references=frozenset({"smol"}), moved_controls=(CONTROL,))

    assert inhibited_by(failing("provider_auth"), [failing("provider_auth")], ours) is None
    assert inhibited_by(failing("provider_auth"), (), Conditions(offline=True)) == "connectivity"


@pytest.mark.parametrize(
    ("other", "inhibitor"),
    [
        (failing("provider_auth", endpoint="ep_2"), "alr_2"),
        (failing("provider_unreachable", endpoint="ep_2"), "alr_2"),
        (failing("provider_rejected", endpoint="ep_2"), None),
        (failing("provider_rejected"), "alr_2"),
        (failing("provider_auth", provider="umbrella", endpoint="ep_2"), None),
        (failing("provider_auth", AlertState.PENDING), None),
        (failing("provider_auth", AlertState.RESOLVED), None),
    ],
)
def test_a_provider_that_is_down_speaks_for_its_quality(other: Subject, inhibitor: str | None) -> None:
    silent = Subject("alr_3", Watch.NO_DATA, AlertState.NO_DATA, LABELS)

    assert inhibited_by(DRIFTING, [other], Conditions()) == inhibitor
    assert inhibited_by(silent, [other], Conditions()) == inhibitor


def test_all_that_holds_an_alert_back_is_named_with_the_last_end() -> None:
    window = Maintenance.model_construct(id="once", match={}, starts=LOCAL, duration=14400.0)

    held = holds_of(
        DRIFTING, AT, silences=[silence(), silence(hours=2)], windows=[window], conditions=Conditions(offline=True)
    )

    assert (held.silence, held.maintenance, held.inhibitor) == ("sil_1", "once", "connectivity")
    assert held.until == AT + timedelta(hours=3)
    assert bool(held)
    assert not holds_of(DRIFTING, AT)
