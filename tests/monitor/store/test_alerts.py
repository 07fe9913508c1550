"""Alerts in a real database: one open alert a fingerprint, state and events together, and what people decide."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from monitor.alerts.inhibit import Conditions
from monitor.alerts.rule import BUILT_IN, AlertRule
from monitor.alerts.signals import Failed, Measured, Tick, Verdicted
from monitor.config.service import Maintenance
from monitor.drift.rule import Verdict
from monitor.errors import ConflictError, NotFoundError, PreconditionFailedError, UsageError
from monitor.standing import STREAMS
from monitor.store import EndpointRecord, Enrol, Store
from monitor.store.alert_history import check_signals, past_signals
from monitor.store.alerts import AlertFilter, AlertRecord, Alerts, apply_signals, end_outdated, holds_by_id
from monitor.store.keyset import Window
from monitor.store.tables import AlertEvent
from monitor.store.vocabulary import AlertState, RunStatus, Severity, Trigger
from probes.plan import ProbeKind
from tests.monitor.store.material import AT, evidence, finished_run, identity, later, result, start

LABELS = {"provider": "acme", "model": "smol", "tier": "prod"}
EVERYTHING = Window(100)
DAY = timedelta(days=1)


@pytest.fixture
def alerts(store: Store) -> Alerts:
    return Alerts(store.sessions)


def found(number: int, verdict: Verdict = Verdict.DRIFT, metric: str = "logprobs", **finding: Any) -> Verdicted:
    return Verdicted(f"chk_{number}", later(15 * number), metric, verdict, fresh=True, finding=finding)


def apply(
    alerts: Alerts, endpoint: EndpointRecord, *signals: Measured, rules: Sequence[AlertRule] = BUILT_IN
) -> list[str]:
    return [
        changed
        for signal in signals
        for changed in alerts.apply(endpoint.id, LABELS, [signal], rules, at=signal.at + timedelta(seconds=1))
    ]


def all_of(alerts: Alerts, **which: Any) -> list[AlertRecord]:
    return list(alerts.list(EVERYTHING, AlertFilter(**which)).items)


def kinds(alerts: Alerts, alert_id: str) -> list[str]:
    return [event.kind for event in alerts.events(alert_id)]


def firing(alerts: Alerts, endpoint: EndpointRecord, metric: str = "logprobs") -> AlertRecord:
    apply(alerts, endpoint, found(1, metric=metric), found(2, metric=metric))
    return next(one for one in all_of(alerts, state=AlertState.FIRING) if one.metric == metric)


def test_an_unchanged_endpoint_leaves_nothing_behind(alerts: Alerts, endpoint: EndpointRecord) -> None:
    assert apply(alerts, endpoint, found(1, Verdict.OK), found(2, Verdict.INCONCLUSIVE)) == []
    assert all_of(alerts) == []


def test_a_confirmed_drift_is_an_alert_that_says_what_was_found(
    store: Store, alerts: Alerts, endpoint: EndpointRecord
) -> None:
    finished_run(store, endpoint.id, AT)
    apply(alerts, endpoint, found(1, value=0.4), found(2, value=0.5, baseline=0.01, unit="nat"))

    (alert,) = all_of(alerts)

    assert (alert.rule, alert.metric, alert.state, alert.severity) == (
        "drift",
        "logprobs",
        AlertState.FIRING,
        Severity.CRITICAL,
    )
    assert alert.labels == {
        **LABELS,
        "endpoint": endpoint.id,
        "metric": "logprobs",
        "probe": "logprobs",
        "rule": "drift",
        "severity": "critical",
    }
    assert alert.finding == {
        "value": 0.5,
        "baseline": 0.01,
        "unit": "nat",
        "checks": ["chk_1", "chk_2"],
        "since": later(0.5).isoformat(),
        "until": later(15).isoformat(),
    }
    assert (alert.opened_at, alert.fired_at, alert.resolved_at) == (later(15), later(30), None)
    assert kinds(alerts, alert.id) == ["opened", "fired"]
    assert [event.notice for event in alerts.events(alert.id)] == [False, True]


def test_what_many_rounds_prove_needs_no_other_check_to_confirm_it(
    store: Store, alerts: Alerts, endpoint: EndpointRecord
) -> None:
    run_id = finished_run(store, endpoint.id, AT, outcome=result(evidence_of=[evidence(STREAMS, Verdict.DRIFT)]))
    with store.sessions.read() as session:
        (signal,) = check_signals(session, store.run(run_id).check_id)

    apply(alerts, endpoint, signal)

    (alert,) = all_of(alerts)
    assert (alert.metric, alert.state) == (STREAMS, AlertState.FIRING)


def test_each_event_waits_in_the_outbox_with_a_picture_of_its_moment(
    store: Store, alerts: Alerts, endpoint: EndpointRecord
) -> None:
    firing(alerts, endpoint)
    apply(alerts, endpoint, *(found(number, Verdict.OK) for number in (3, 4, 5)))

    with store.sessions.read() as session:
        events = session.scalars(select(AlertEvent).order_by(AlertEvent.id)).all()

    assert [event.kind for event in events] == ["opened", "fired", "recovering", "resolved"]
    assert [event.snapshot["state"] for event in events] == ["pending", "firing", "recovering", "resolved"]
    assert [event.seq for event in events] == [1, 2, 3, 4]
    assert {event.fanned_out_at for event in events} == {None}


def test_a_check_that_is_applied_again_changes_nothing(alerts: Alerts, endpoint: EndpointRecord) -> None:
    before = firing(alerts, endpoint)

    assert apply(alerts, endpoint, found(1), found(2), found(2, Verdict.OK)) == []

    assert all_of(alerts) == [before]


def test_the_next_episode_is_a_new_alert(alerts: Alerts, endpoint: EndpointRecord) -> None:
    first = firing(alerts, endpoint)
    apply(alerts, endpoint, *(found(number, Verdict.OK) for number in (3, 4, 5)))

    apply(alerts, endpoint, found(200), found(201))

    second, resolved = all_of(alerts)
    assert resolved.id == first.id
    assert (resolved.state, resolved.resolved_at) == (AlertState.RESOLVED, later(75))
    assert (second.state, second.fingerprint) == (AlertState.FIRING, first.fingerprint)


@pytest.mark.parametrize("rule", ["drift", "availability", "no-data"])
def test_a_clock_that_ran_ahead_for_a_while_keeps_no_alert_from_its_work(
    alerts: Alerts, endpoint: EndpointRecord, rule: str
) -> None:
    def bad(number: int) -> Measured:
        at = later(15 * number)
        if rule == "drift":
            return found(number)
        return Failed(f"chk_{number}", at, "provider_auth") if rule == "availability" else Tick(at, at - 10 * DAY)

    years = 10 * 365 * 96
    apply(alerts, endpoint, bad(years), bad(years + 1))
    if rule != "no-data":
        apply(alerts, endpoint, bad(0), bad(1))
    apply(alerts, endpoint, *(found(number, Verdict.OK) for number in range(2, 8)))
    (ended,) = all_of(alerts, rule=rule)
    apply(alerts, endpoint, bad(8), bad(9))

    assert ended.state is AlertState.RESOLVED
    assert kinds(alerts, ended.id).count("resolved") == 1
    assert [one.state is AlertState.RESOLVED for one in all_of(alerts, rule=rule)].count(False) == 1


def test_metrics_and_endpoints_have_alerts_of_their_own(store: Store, alerts: Alerts, endpoint: EndpointRecord) -> None:
    other = store.ensure_endpoint(identity("umbrella"), at=AT)

    firing(alerts, endpoint)
    apply(alerts, endpoint, found(2, metric="accounting"))
    apply(alerts, other, found(9))

    assert len({alert.fingerprint for alert in all_of(alerts, open=True)}) == 3


def test_failures_and_silence_are_alerts_of_the_endpoint(alerts: Alerts, endpoint: EndpointRecord) -> None:
    apply(
        alerts,
        endpoint,
        Failed("chk_1", later(15), "provider_auth"),
        Failed("chk_2", later(30), "provider_auth"),
        Tick(later(60), quiet_since=AT),
        Tick(later(61), quiet_since=AT),
    )

    silent, failing = all_of(alerts)
    assert (failing.rule, failing.state, failing.severity) == ("availability", AlertState.ERROR, Severity.WARNING)
    assert (failing.finding["error"], failing.finding["checks"]) == ("provider_auth", ["chk_1", "chk_2"])
    assert (silent.rule, silent.state) == ("no-data", AlertState.NO_DATA)
    assert silent.finding["since"] == AT.isoformat()

    apply(alerts, endpoint, found(5, Verdict.OK), found(6, Verdict.OK))
    assert {alert.state for alert in all_of(alerts)} == {AlertState.RESOLVED}


def test_requests_that_fail_in_a_check_that_is_judged_are_a_matter_of_the_availability_rule(
    store: Store, alerts: Alerts, endpoint: EndpointRecord
) -> None:
    said = {"logprobs": Verdict.OK, "tool_calls.availability": Verdict.SUSPECT, "tool_calls.trigger": Verdict.OK}
    evidences = tuple(replace(evidence(metric), verdict=one, value=-0.2) for metric, one in said.items())
    finished_run(store, endpoint.id, AT, outcome=replace(result(), evidence=evidences))
    with store.sessions.read() as session:
        (signals,) = past_signals(session, AT).values()

    alerts.apply(endpoint.id, LABELS, signals, BUILT_IN, at=later(1))

    (alert,) = all_of(alerts)
    assert (alert.rule, alert.metric, alert.state) == ("availability", "", AlertState.PENDING)
    assert alert.finding["value"] == -0.2


def test_at_most_one_alert_is_open_and_it_fires_once_whoever_comes_first(
    alerts: Alerts, endpoint: EndpointRecord
) -> None:
    signals = [replace(found(number), at=later(15)) for number in range(12)]

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda signal: apply(alerts, endpoint, signal), signals))

    (alert,) = all_of(alerts)
    assert kinds(alerts, alert.id) == ["opened", "fired"]


def test_nothing_is_kept_of_a_transaction_that_fails(store: Store, alerts: Alerts, endpoint: EndpointRecord) -> None:
    with pytest.raises(RuntimeError), store.sessions.write() as session:  # noqa: PT012
        apply_signals(session, endpoint.id, LABELS, [found(1), found(2)], BUILT_IN, later(30))
        raise RuntimeError

    assert all_of(alerts) == []


def test_a_rule_that_was_edited_ends_its_own_alerts_only(alerts: Alerts, endpoint: EndpointRecord) -> None:
    drifting = firing(alerts, endpoint)
    apply(alerts, endpoint, *(Failed(f"chk_{number}", later(15 * number), "provider_auth") for number in (3, 4)))
    edited = [replace(rule, clear_for=9) if rule.id == "drift" else rule for rule in BUILT_IN]

    apply(alerts, endpoint, Tick(later(61), quiet_since=later(60)), rules=edited)

    assert kinds(alerts, drifting.id)[-1] == "rule_changed"
    assert [alert.rule for alert in all_of(alerts, open=True)] == ["availability"]


def test_a_rule_that_takes_anothers_findings_ends_its_alerts(
    store: Store, alerts: Alerts, endpoint: EndpointRecord
) -> None:
    firing(alerts, endpoint)
    rules = [replace(BUILT_IN[0], id="prod", match={"tier": "prod", "metric": "log*"}), *BUILT_IN]

    with store.sessions.write() as session:
        ended = end_outdated(session, endpoint.id, LABELS, rules, later(40))
    apply(alerts, endpoint, found(3), found(4), rules=rules)

    (new,) = all_of(alerts, open=True)
    assert (new.rule, ended) == ("prod", [all_of(alerts, open=False)[0].id])


def test_a_baseline_that_a_person_accepts_ends_what_it_explains(
    store: Store, alerts: Alerts, endpoint: EndpointRecord
) -> None:
    run_id = store.begin_run(start(endpoint.id), at=AT)
    store.finish_run(run_id, result(baseline=Enrol()), at=AT)
    finished_run(store, endpoint.id, later(30))
    explained, other = firing(alerts, endpoint), firing(alerts, endpoint, "accounting")

    store.accept_baseline(endpoint.id, note="they announced it", at=later(40))

    assert kinds(alerts, explained.id)[-1] == "baseline_accepted"
    assert alerts.show(explained.id).note == "they announced it"
    assert [alert.id for alert in all_of(alerts, open=True)] == [other.id]


def test_accepting_a_probes_run_ends_the_alerts_of_all_its_checks(
    store: Store, alerts: Alerts, endpoint: EndpointRecord
) -> None:
    finished_run(store, endpoint.id, later(30), probe=ProbeKind.TOOL_CALLS, outcome=result())
    for metric in ("tool_calls.trigger", "tool_calls.accumulated"):
        firing(alerts, endpoint, metric)
    other = firing(alerts, endpoint, "protocol.stack")

    store.accept_baseline(endpoint.id, note="another model", at=later(40))

    assert [alert.id for alert in all_of(alerts, open=True)] == [other.id]


def test_an_acknowledgement_is_kept_with_who_and_why(alerts: Alerts, endpoint: EndpointRecord) -> None:
    alert = firing(alerts, endpoint)

    acked = alerts.ack(alert.id, actor="alice", note="asked them", at=later(40))

    assert (acked.acked_by, acked.acked_at, acked.note) == ("alice", later(40), "asked them")
    assert acked.row_version == alert.row_version + 1
    assert alerts.ack(alert.id, actor="bob", at=later(41)) == acked
    assert alerts.unack(alert.id, actor="bob", at=later(42)).acked_by is None
    assert kinds(alerts, alert.id)[2:] == ["acked", "unacked"]


def test_another_metric_reopens_what_was_acknowledged(alerts: Alerts, endpoint: EndpointRecord) -> None:
    alert = firing(alerts, endpoint)
    alerts.ack(alert.id, actor="alice", at=later(31))

    firing(alerts, endpoint, "accounting")

    assert alerts.show(alert.id).acked_at is None
    assert kinds(alerts, alert.id)[-1] == "reopened"


def test_a_person_may_end_and_comment_an_alert(alerts: Alerts, endpoint: EndpointRecord) -> None:
    alert = firing(alerts, endpoint)

    alerts.comment(alert.id, actor="alice", text="they rolled back", at=later(40))
    over = alerts.resolve(alert.id, actor="alice", note="rolled back", at=later(41))

    assert (over.state, over.resolved_at, over.note) == (AlertState.RESOLVED, later(41), "rolled back")
    assert [event.reason for event in alerts.events(alert.id)[2:]] == ["they rolled back", "rolled back"]
    with pytest.raises(ConflictError, match="resolved already"):
        alerts.ack(alert.id, actor="alice", at=later(42))


def test_who_saw_an_older_state_is_refused(alerts: Alerts, endpoint: EndpointRecord) -> None:
    alert = firing(alerts, endpoint)
    alerts.ack(alert.id, actor="alice", at=later(40), expected=alert.row_version)

    with pytest.raises(PreconditionFailedError, match="changed meanwhile"):
        alerts.resolve(alert.id, actor="bob", at=later(41), expected=alert.row_version)

    assert alerts.show(alert.id).state is AlertState.FIRING


def test_an_unknown_alert_is_named(alerts: Alerts) -> None:
    for ask in (alerts.show, alerts.events):
        with pytest.raises(NotFoundError, match="no alert alr_x"):
            ask("alr_x")
    with pytest.raises(NotFoundError, match="no alert alr_x"):
        alerts.ack("alr_x", actor="alice", at=AT)


def test_pages_of_alerts_hold_each_of_them_once(store: Store, alerts: Alerts) -> None:
    for number in range(5):
        one = store.ensure_endpoint(identity(f"provider-{number}"), at=AT)
        apply(alerts, one, found(number // 2))

    seen: list[AlertRecord] = []
    window: Window | None = Window(2)
    while window is not None:
        page = alerts.list(window)
        seen += page.items
        window = None if page.next is None else Window(2, page.next)

    assert [alert.opened_at for alert in seen] == [later(30), later(15), later(15), AT, AT]
    assert len({alert.id for alert in seen}) == 5


def test_alerts_are_found_by_what_they_are_about(store: Store, alerts: Alerts, endpoint: EndpointRecord) -> None:
    alert = firing(alerts, endpoint)

    fitting: list[dict[str, Any]] = [
        {"provider": "acme"},
        {"model": "smol"},
        {"rule": "drift"},
        {"endpoint_id": endpoint.id},
    ]
    others: list[dict[str, Any]] = [
        {"provider": "umbrella"},
        {"severity": Severity.INFO},
        {"open": False},
        {"since": later(99)},
    ]
    assert [[one.id for one in all_of(alerts, **which)] for which in fitting] == [[alert.id]] * len(fitting)
    assert [all_of(alerts, **which) for which in others] == [[]] * len(others)


def test_a_silence_holds_until_it_ends(store: Store, alerts: Alerts, endpoint: EndpointRecord) -> None:
    alert = firing(alerts, endpoint)
    silence = alerts.add_silence(
        {"provider": "ac*"}, starts_at=AT, ends_at=later(60), author="alice", comment="known", at=AT
    )

    assert alerts.holds([alert], at=later(59))[alert.id].silence == silence.id
    assert not alerts.holds([alert], at=later(60))[alert.id]

    expired = alerts.expire_silence(silence.id, actor="bob", at=later(50), expected=silence.row_version)
    assert expired.ends_at == later(50)
    assert alerts.expire_silence(silence.id, actor="bob", at=later(55)) == expired == alerts.show_silence(silence.id)
    assert not alerts.holds([alert], at=later(59))[alert.id]
    assert alerts.silences(EVERYTHING, not_over_at=later(51)).items == ()
    assert alerts.silences(EVERYTHING).items == (expired,)


@pytest.mark.parametrize(("matchers", "minutes"), [({}, 60), ({"provider": "acme"}, 0), ({"provider": "acme"}, -1)])
def test_a_silence_of_everything_or_without_time_is_refused(
    alerts: Alerts, matchers: dict[str, str], minutes: float
) -> None:
    with pytest.raises(UsageError, match="silence"):
        alerts.add_silence(matchers, starts_at=AT, ends_at=later(minutes), author="alice", comment="", at=AT)


def test_all_that_holds_notices_back_is_found_for_those_who_send_them(
    store: Store, alerts: Alerts, endpoint: EndpointRecord
) -> None:
    alert = firing(alerts, endpoint)
    apply(alerts, endpoint, *(Failed(f"chk_{number}", later(15 * number), "provider_auth") for number in (3, 4)))
    (failing,) = all_of(alerts, state=AlertState.ERROR)
    window = Maintenance.model_construct(
        id="nightly", match={"provider": "acme"}, rrule="FREQ=DAILY;BYHOUR=12", tz="UTC", starts=None, duration=7200.0
    )

    with store.sessions.read() as session:
        plain = holds_by_id(session, [alert.id, failing.id], later(60))
        more = holds_by_id(session, [alert.id], later(60), [window], Conditions(offline=True))

    assert (plain[alert.id].inhibitor, plain[failing.id].inhibitor) == (failing.id, None)
    assert (more[alert.id].maintenance, more[alert.id].inhibitor) == ("nightly", "connectivity")


def test_what_a_check_said_is_read_from_what_it_left(store: Store, endpoint: EndpointRecord) -> None:
    moved = replace(evidence(verdict=Verdict.DRIFT), adjusted_p=1e-6)
    shown = evidence("latency", Verdict.INCONCLUSIVE, counted=False)
    standing = [evidence(name, Verdict.SUSPECT) for name in ("fidelity", "fidelity.tokens")]
    confirming = replace(start(endpoint.id, check_id="chk_1"), trigger=Trigger.CONFIRM)
    run_id = store.begin_run(confirming, at=AT)
    store.finish_run(run_id, replace(result(), evidence=[moved, shown, *standing]), at=later(1))

    with store.sessions.read() as session:
        (signal,) = check_signals(session, "chk_1")
        past = past_signals(session, AT)

    assert isinstance(signal, Verdicted)
    assert (signal.metric, signal.verdict, signal.fresh, signal.at) == ("logprobs", Verdict.DRIFT, True, later(1))
    assert signal.finding["value"] == 0.012
    assert signal.finding["ci"] == [0.001, 0.023]
    assert (signal.finding["p"], signal.finding["runs"], signal.finding["detector"]) == (1e-6, [run_id], "two_sample/1")
    assert past == {endpoint.id: [signal]}


@pytest.mark.parametrize(("code", "failed"), [("provider_unreachable", True), ("abandoned", False), (None, False)])
def test_a_check_failed_where_the_endpoint_did_not_answer(
    store: Store, endpoint: EndpointRecord, code: str | None, failed: bool
) -> None:
    ended = replace(result(status=RunStatus.FAILED), error_code=code, evidence=(), observations=())
    finished_run(store, endpoint.id, check_id="chk_1", outcome=ended)

    with store.sessions.read() as session:
        signals = check_signals(session, "chk_1")

    assert signals == ([Failed("chk_1", later(0.5), str(code))] if failed else [])
