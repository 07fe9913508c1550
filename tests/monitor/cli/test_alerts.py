"""`monitor alerts`: what is wrong, what was decided, and what a rule would have said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from monitor import clock
from monitor.alerts.rule import BUILT_IN
from monitor.alerts.signals import Verdicted
from monitor.config.schema import ConfigFile
from monitor.deliveries.attempt import Tried
from monitor.deliveries.dispatch import Dispatch
from monitor.deliveries.retry import Done
from monitor.deliveries.routes import Routes
from monitor.drift.rule import Verdict
from monitor.store import RunResult, RunStatus, Store, Trigger
from monitor.store.alerts import Alerts
from monitor.store.deliveries import Deliveries
from tests.monitor.cli.commands import Monitor
from tests.monitor.deliveries.courier import QUICK
from tests.monitor.deliveries.material import channel
from tests.monitor.store.material import AT, evidence, identity, later, result, start

LABELS = {"provider": "acme", "model": "smol"}
FINDING = {"value": 0.658, "baseline": 0.01, "unit": "nat", "causes": [{"name": "w4-g64", "weight": 1.0}]}


@pytest.fixture
def store(data_dir: Path) -> Iterator[Store]:
    data_dir.mkdir()
    with Store.open(data_dir / "monitor.db", at=AT) as opened:
        yield opened


@pytest.fixture
def alert(store: Store) -> str:
    """The id of an alert that fires."""
    endpoint = store.ensure_endpoint(identity(), at=AT)
    drifts = [
        Verdicted(f"chk_{number}", later(15 * number), "logprobs", Verdict.DRIFT, fresh=True, finding=FINDING)
        for number in (1, 2)
    ]
    (changed,) = Alerts(store.sessions).apply(endpoint.id, LABELS, drifts, BUILT_IN, at=later(30))
    return changed


def test_the_list_tells_each_open_alert_in_a_line(monitor: Monitor, alert: str) -> None:
    ran = monitor("alerts", "list")

    assert (ran.code, ran.err) == (0, "")
    header, line = [line.split() for line in ran.out.splitlines()]
    assert header == ["id", "severity", "state", "since", "(UTC)", "what", "notice"]
    assert line == [
        alert,
        "critical",
        "FIRING",
        "2026-11-29",
        "12:30",
        "acme/smol",
        "logprobs",
        *["0.010", "→", "0.658", "nat"],
    ]


def test_the_list_says_what_holds_notices_back(monitor: Monitor, store: Store, alert: str) -> None:
    monitor("alerts", "ack", alert, "--note", "asked them")
    silence = Alerts(store.sessions).add_silence(
        {"provider": "acme"},
        starts_at=AT,
        ends_at=datetime.max.replace(tzinfo=AT.tzinfo),
        author="x",
        comment="",
        at=AT,
    )

    (item,) = monitor("alerts", "list", "--json").document["items"]

    assert item["acked_by"].startswith("cli:")
    assert item["silenced_by"] == silence.id
    assert f"acked by {item['acked_by']}, silenced by {silence.id}" in monitor("alerts", "list").out


def test_the_list_says_which_channels_were_told_and_when(monitor: Monitor, store: Store, alert: str) -> None:
    deliveries = Deliveries(store.sessions)
    file = {"version": 1, "channels": [channel("ops"), channel("away")], "routes": [{**QUICK, "to": ("ops", "away")}]}
    dispatch = Dispatch(deliveries, Routes.of(ConfigFile.model_validate(file)))
    dispatch.fan_out(later(31))
    sent = [each for each in dispatch.flush_due(later(32)) if deliveries.channel_of(each) == "ops"]
    for delivery_id in sent:
        claimed = deliveries.claim(delivery_id, "w1", later(32), per_minute=9)
        assert claimed is not None
        deliveries.finish_try(claimed, Tried(http_status=204), Done(), clock.now() - timedelta(hours=2, minutes=5))

    (item,) = monitor("alerts", "list", "--json").document["items"]

    assert [(told["channel"], told["type"], told["status"]) for told in item["notices"]] == [
        ("away", "alert.firing", "pending"),
        ("ops", "alert.firing", "delivered"),
    ]
    for shown in (monitor("alerts", "list").out, monitor("alerts", "show", alert).out):
        assert re.search(r"away waits, made \d+ (min|h|d) ago, ops sent 2 h ago", shown)


def test_a_comment_is_kept_among_the_steps(monitor: Monitor, alert: str) -> None:
    said = monitor("alerts", "comment", alert, " they rolled out fp8 ")
    empty = monitor("alerts", "comment", alert, " ")

    event = monitor("alerts", "show", alert, "--json").document["events"][-1]
    assert (said.code, empty.code) == (0, 2)
    assert (event["kind"], event["reason"]) == ("commented", "they rolled out fp8")
    assert event["actor"].startswith("cli:")


def test_resolved_alerts_are_listed_when_asked_for(monitor: Monitor, alert: str) -> None:
    monitor("alerts", "resolve", alert, "--note", "rolled back")

    assert monitor("alerts", "list").err == "No open alerts.\n"
    for options in (("--all",), ("--state", "resolved"), ("--all", "--provider", "acme", "--model", "smol")):
        (item,) = monitor("alerts", "list", "--json", *options).document["items"]
        assert (item["id"], item["state"], item["note"]) == (alert, "resolved", "rolled back")
    assert monitor("alerts", "list", "--all", "--provider", "umbrella", "--json").document["items"] == []


def test_one_alert_is_shown_with_every_step(monitor: Monitor, alert: str) -> None:
    monitor("alerts", "ack", alert)

    text, document = monitor("alerts", "show", alert).out, monitor("alerts", "show", alert, "--json").document

    assert "acme/smol logprobs 0.010 → 0.658 nat" in text
    assert "w4-g64 100%" in text
    assert document["alert"]["finding"]["checks"] == ["chk_1", "chk_2"]
    assert [event["kind"] for event in document["events"]] == ["opened", "fired", "acked"]
    assert [event["notice"] for event in document["events"]] == [False, True, True]


def test_what_was_decided_is_printed(monitor: Monitor, alert: str) -> None:
    acked, unacked = monitor("alerts", "ack", alert), monitor("alerts", "unack", alert)

    assert f"{alert} acme/smol logprobs 0.010 → 0.658 nat: firing, acked by cli:" in acked.out
    assert unacked.out.endswith("nat: firing\n")
    assert monitor("alerts", "resolve", alert).out.endswith("nat: resolved\n")
    assert monitor("alerts", "ack", alert).code == 2


@pytest.mark.parametrize("command", ["show", "ack", "unack", "resolve"])
@pytest.mark.parametrize("saved", [True, False])
def test_an_unknown_alert_is_an_error_that_leaves_nothing_behind(
    monitor: Monitor, data_dir: Path, command: str, saved: bool
) -> None:
    if saved:
        data_dir.mkdir()
        Store.open(data_dir / "monitor.db", at=AT).close()

    ran = monitor("alerts", command, "alr_1")

    assert (ran.code, data_dir.exists()) == (2, saved)
    assert "There is no alert alr_1." in ran.err


def test_no_alerts_are_no_error(monitor: Monitor, data_dir: Path) -> None:
    assert monitor("alerts", "list").err == "No open alerts.\n"
    assert monitor("alerts", "list", "--json").document == {"schema": "monitor.alerts/1", "items": []}
    assert not data_dir.exists()


def check(store: Store, endpoint_id: str, at: datetime, verdict: Verdict | None, trigger: Trigger) -> None:
    run_id = store.begin_run(replace(start(endpoint_id), trigger=trigger), at=at)
    if verdict is None:
        outcome = RunResult(RunStatus.FAILED, "provider_auth")
    else:
        outcome = replace(result(), evidence=[evidence(verdict=verdict), evidence("fidelity", Verdict.SUSPECT)])
    store.finish_run(run_id, outcome, at=at)


def past(store: Store, verdicts: str, provider: str = "acme") -> datetime:
    """A check every 15 minutes up to now: `d`rift, `c`onfirmed drift, `o`k, `f`ailed; when the first was."""
    words = {"d": Verdict.DRIFT, "c": Verdict.DRIFT, "o": Verdict.OK, "f": None}
    endpoint = store.ensure_endpoint(identity(provider), at=AT)
    began = clock.now() - timedelta(minutes=15 * len(verdicts))
    for place, letter in enumerate(verdicts):
        trigger = Trigger.CONFIRM if letter == "c" else Trigger.SCHEDULE
        check(store, endpoint.id, began + timedelta(minutes=15 * place), words[letter], trigger)
    return began


def test_a_rule_is_tried_on_the_past_and_sends_nothing(monitor: Monitor, store: Store) -> None:
    began = past(store, "oodcdooodo")
    past(store, "ooo", "umbrella")

    ran = monitor("alerts", "test-rule", "drift", "--replay", "7d")

    assert ran.code == 0
    told = [line.split() for line in ran.out.splitlines()[1:]]
    assert [line[2:5] for line in told] == [["acme/smol", "logprobs", "fired"], ["acme/smol", "logprobs", "resolved"]]
    assert told[0][:2] == (began + timedelta(minutes=45)).strftime("%Y-%m-%d %H:%M").split()
    assert ran.err == (
        "Over 7d, 13 checks of 2 endpoints: rule drift would have made 1 alerts and 2 notices; "
        "1 more began and did not fire.\n"
    )
    assert monitor("alerts", "list", "--all").err == "No alerts.\n"


def test_a_rule_test_as_json(monitor: Monitor, store: Store) -> None:
    past(store, "offf")

    document = monitor("alerts", "test-rule", "availability", "--json").document

    assert document["schema"] == "monitor.rule_test/1"
    (endpoint,) = document["endpoints"]
    (alert,) = endpoint["alerts"]
    assert (endpoint["provider"], endpoint["checks"], alert["state"]) == ("acme", 4, "error")
    assert [notice["kind"] for notice in alert["notices"]] == ["fired"]


def test_rules_and_intervals_of_the_file_count(monitor: Monitor, folder: Path, store: Store) -> None:
    past(store, "dcoo")
    (folder / "providers.yaml").write_text(
        """\
version: 1
models: { smol: {} }
providers: [ { slug: acme, base_url: https://api.acme.test/v1, models: [ { model: smol, name: smol } ] } ]
schedules: [ { id: often, every: 15m } ]
rules:
  - { id: quick, match: { metric: log* }, clear_for: 1, keep_firing_for: 1 }
  - { id: others, match: { provider: umbrella } }
"""
    )

    def notices(rule: str) -> list[str]:
        (endpoint,) = monitor("alerts", "test-rule", rule, "--json").document["endpoints"]
        return [notice["kind"] for alert in endpoint["alerts"] for notice in alert["notices"]]

    assert notices("quick") == ["fired", "resolved"]
    assert notices("drift") == ["fired"]
    assert notices("others") == []


def test_silence_in_the_past_is_found(monitor: Monitor, store: Store) -> None:
    endpoint = store.ensure_endpoint(identity(), at=AT)
    check(store, endpoint.id, clock.now() - timedelta(hours=3), Verdict.OK, Trigger.SCHEDULE)
    check(store, endpoint.id, clock.now() - timedelta(hours=1), Verdict.OK, Trigger.SCHEDULE)

    (tested,) = monitor("alerts", "test-rule", "no-data", "--json").document["endpoints"]

    assert [[notice["kind"] for notice in alert["notices"]] for alert in tested["alerts"]] == [
        ["fired", "resolved"],
        ["fired"],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("drit",), "There is no rule 'drit' that is on; did you mean 'drift'?"),
        (("drift", "--replay", "soon"), "--replay 'soon' is not a time."),
    ],
)
def test_a_rule_that_is_not_there_is_named(monitor: Monitor, arguments: tuple[str, ...], message: str) -> None:
    ran = monitor("alerts", "test-rule", *arguments)

    assert ran.code == 2
    assert message in ran.err


def test_a_broken_file_is_not_taken_for_none(monitor: Monitor, folder: Path) -> None:
    (folder / "providers.yaml").write_text("version: [")

    assert monitor("alerts", "test-rule", "drift").code == 2
