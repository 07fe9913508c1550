"""How an endpoint stands: alerts before checks, a proven drift before everything."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from dashboards import states
from dashboards.states import LEGEND, State
from monitor.alerts.rule import Watch
from monitor.drift.rule import Verdict
from monitor.standing import NOTHING_EXPECTED, Stand, StandingVerdict, stand_of
from monitor.store.alert_records import AlertRecord
from monitor.store.browse_records import EndpointOverview
from monitor.store.entries import CheckEntry
from monitor.store.records import EndpointRecord
from monitor.store.runs import ABANDONED
from monitor.store.vocabulary import AlertState, RunStatus, Severity, Trigger
from probes.plan import ProbeKind

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
ENDPOINT = EndpointRecord("ep_1", "acme", "https://a.test", "lark", "lark", {}, {}, {}, NOW)


def check(
    status: RunStatus = RunStatus.SUCCEEDED,
    verdict: Verdict | None = None,
    *,
    enrolled: bool = False,
    error_code: str | None = None,
) -> CheckEntry:
    fields: dict[str, Any] = dict.fromkeys(CheckEntry.__dataclass_fields__)
    fields |= {"id": "chk_1", "trigger": Trigger.CLI, "status": status, "verdict": verdict, "enrolled": enrolled}
    return CheckEntry(**fields | {"error_code": error_code})


GIVEN_UP = check(RunStatus.FAILED, error_code=ABANDONED)


def alert(state: AlertState) -> AlertRecord:
    fields: dict[str, Any] = dict.fromkeys(AlertRecord.__dataclass_fields__)
    fields |= {"state": state, "severity": Severity.CRITICAL, "watches": Watch.DRIFT, "labels": {}, "finding": {}}
    fields["metric"] = "logprobs"
    return AlertRecord(**fields)


def judged(verdict: Verdict, *, enrolled: bool = False) -> EndpointOverview:
    found = check(verdict=verdict, enrolled=enrolled)
    return EndpointOverview(ENDPOINT, found, found, (stands(verdict),))


def stands(verdict: Verdict, metric: str = "logprobs") -> StandingVerdict:
    return StandingVerdict(ProbeKind.LOGPROBS, "", metric, verdict, NOW, NOW, "chk_1", "run_1")


def state_of(standing: EndpointOverview, alerts: list[AlertRecord], *, maintenance: bool) -> State:
    stand = stand_of(standing.standing, NOTHING_EXPECTED, NOW)
    return states.state_of(standing, stand, alerts, maintenance=maintenance)


@pytest.mark.parametrize(
    ("standing", "state"),
    [
        (EndpointOverview(ENDPOINT, None, None), states.WAITING),
        (EndpointOverview(ENDPOINT, check(RunStatus.RUNNING), None), states.CHECKING),
        (EndpointOverview(ENDPOINT, check(RunStatus.EXPIRED), None), states.WAITING),
        (replace(judged(Verdict.OK), latest=check(RunStatus.FAILED)), states.ERROR),
        (replace(judged(Verdict.OK), latest=GIVEN_UP), states.OK),
        (EndpointOverview(ENDPOINT, GIVEN_UP, None), states.WAITING),
        (replace(judged(Verdict.OK), latest=check(RunStatus.RUNNING)), states.OK),
        (judged(Verdict.SUSPECT), states.SUSPECT),
        (judged(Verdict.DRIFT), states.DRIFT),
        (judged(Verdict.INCONCLUSIVE), states.INCONCLUSIVE),
        (judged(Verdict.INCONCLUSIVE, enrolled=True), states.ENROLLED),
        (judged(Verdict.OK, enrolled=True), states.OK),
    ],
)
def test_without_alerts_the_checks_decide(standing: EndpointOverview, state: State) -> None:
    assert state_of(standing, [], maintenance=False) == state


@pytest.mark.parametrize(
    ("alerts", "state"),
    [
        ([AlertState.PENDING], states.PENDING),
        ([AlertState.NO_DATA, AlertState.PENDING], states.NO_DATA),
        ([AlertState.RECOVERING, AlertState.NO_DATA], states.RECOVERING),
        ([AlertState.NO_DATA, AlertState.ERROR], states.ERROR),
        ([AlertState.ERROR, AlertState.FIRING], states.DRIFT),
    ],
)
def test_the_gravest_alert_decides(alerts: list[AlertState], state: State) -> None:
    open_alerts = [alert(one) for one in alerts]
    assert state_of(judged(Verdict.OK), open_alerts, maintenance=False) == state


def test_a_drift_that_no_alert_tells_of_is_graver_than_the_alerts() -> None:
    drifted = replace(judged(Verdict.OK), standing=(stands(Verdict.OK), stands(Verdict.DRIFT, "accounting")))
    assert state_of(drifted, [alert(AlertState.PENDING)], maintenance=False) == states.DRIFT
    assert state_of(judged(Verdict.DRIFT), [alert(AlertState.PENDING)], maintenance=False) == states.PENDING


def test_an_ok_that_nothing_came_after_in_time_is_out_of_date() -> None:
    stand = Stand(Verdict.OK, (stands(Verdict.OK),), old=True)
    assert states.state_of(judged(Verdict.OK), stand, [], maintenance=False) == states.OLD
    stand = Stand(Verdict.SUSPECT, (stands(Verdict.SUSPECT),), old=True)
    assert states.state_of(judged(Verdict.OK), stand, [], maintenance=False) == states.SUSPECT


def test_maintenance_covers_everything_but_a_proven_drift() -> None:
    assert state_of(judged(Verdict.DRIFT), [alert(AlertState.ERROR)], maintenance=True) == states.MAINTENANCE
    assert state_of(judged(Verdict.OK), [alert(AlertState.FIRING)], maintenance=True) == states.DRIFT


def test_no_two_states_share_a_letter_so_that_nobody_needs_the_colour() -> None:
    assert len({state.letter for state in LEGEND}) == len(LEGEND)
