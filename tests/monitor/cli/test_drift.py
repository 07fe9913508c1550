"""`monitor drift replay`: what rounds added up to, computed anew and told."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from monitor.drift.evidence import Inapplicable, Tier
from monitor.drift.score_stream import Round
from monitor.store import EndpointRecord, Store
from monitor.store.streams import Streams
from monitor.store.tables import StreamEvidence
from tests.monitor.cli.commands import Monitor
from tests.monitor.store.material import AT, finished_run, later
from tests.monitor.store.streamed import STACK, baseline, begun, exact, key, plan, said


@pytest.fixture
def runs(store: Store, endpoint: EndpointRecord) -> list[str]:
    """Four, the last of which makes the endpoint suspect; then one of its escalation."""
    streams, watched, silent = Streams(store.sessions), key(endpoint), key(endpoint, Tier.BORDER, "inputs-1")
    asked = key(endpoint, Tier.GREEDY, "alone-1")
    streams.open(endpoint.id, plan([watched, silent], [asked]), at=AT)
    found: list[str] = []
    while not streams.states(endpoint.id).escalation.streams:
        minutes = len(found)
        found.append(begun(store, endpoint, minutes))
        evidence = [said(watched, exact(3e-3), minutes), said(silent, Inapplicable("[b]no border[/b] inputs"), minutes)]
        streams.add(found[-1], evidence, stack=STACK, at=later(minutes))
    found.append(begun(store, endpoint, 10))
    streams.add_escalated(found[-1], [said(asked, exact(0.5), 10)], stack=STACK, at=later(10))
    return found


def test_a_run_is_told_with_what_was_before_and_after_it(
    monitor: Monitor, endpoint: EndpointRecord, runs: list[str]
) -> None:
    ran = monitor("drift", "replay", runs[-2])

    assert (ran.code, ran.err) == (0, "")
    name, which, _, *lines, last = ran.out.splitlines()
    assert name == "acme / smol (as acme/smol)"
    first = 2 * len(runs) - 3
    assert which == f"{runs[-2]}: evidence {first}, {first + 1} of epoch 0, since 2026-11-29 12:00 UTC, stack stack-1"
    assert [line.split()[0] for line in lines] == ["T4", "endpoint"]
    assert "quiet → suspect; suspected" in lines[-1]
    count = 2 * (len(runs) - 1) + 1
    assert last == f"{count} pieces of evidence and {len(runs)} looks computed anew: bit for bit equal."


def test_the_first_run_made_streams_say_something(monitor: Monitor, runs: list[str]) -> None:
    out = monitor("drift", "replay", runs[0]).out
    assert "inapplicable: [b]no border[/b] inputs" in out
    assert "quiet → quiet" in out


def test_a_run_of_an_escalation_is_told_as_one(monitor: Monitor, runs: list[str]) -> None:
    out = monitor("drift", "replay", runs[-1]).out
    assert "T3 alone-1 (escalation 1)" in out
    assert "T4" not in out


def test_a_run_as_json(monitor: Monitor, endpoint: EndpointRecord, runs: list[str]) -> None:
    document = monitor("drift", "replay", runs[-2], "--json").document

    (item,) = document["items"]
    assert document["schema"] == "monitor.drift_replay/1"
    assert (item["endpoint_id"], item["epoch"], item["replay"]) == (endpoint.id, 0, "bit for bit equal")
    run = item["run"]
    assert (run["run_id"], run["events"]) == (runs[-2], ["suspected"])
    assert (run["before"]["level"], run["after"]["level"]) == ("quiet", "suspect")
    assert run["after"]["worth"] >= 100 > run["before"]["worth"]
    (state,) = run["states"]
    assert state["stream"] == "T4 draws-1"
    assert state["before"]["process"]["kind"] == "p_values"
    assert state["before"] != state["after"]
    assert [one["verdict"] for one in run["after"]["streams"]] == ["inapplicable", "drift"]


def test_every_epoch_of_a_provider_in_a_line(
    monitor: Monitor, store: Store, endpoint: EndpointRecord, runs: list[str]
) -> None:
    Streams(store.sessions).expire(endpoint.id, at=later(60))

    ran = monitor("drift", "replay", "--provider", "acme", "--model", "smol")

    assert (ran.code, ran.err) == (0, "")
    _, first, second = [line.split() for line in ran.out.splitlines()]
    assert first[:3] == ["smol", "acme/smol", "0"]
    assert first[-5:] == ["suspect", "bit", "for", "bit", "equal"]
    assert second[2:8] == ["1", "2026-11-29", "13:00", "–", "0", "0"]
    assert second[8:] == ["1", "quiet", "bit", "for", "bit", "equal"]
    items = monitor("drift", "replay", "--provider", "acme", "--json").document["items"]
    assert [(item["epoch"], item["why"], item["run"]) for item in items] == [(0, "expired", None), (1, None, None)]


@pytest.mark.parametrize("what", ["run", "provider"])
def test_what_differs_is_an_error_that_names_the_place(
    monitor: Monitor, store: Store, endpoint: EndpointRecord, runs: list[str], what: str
) -> None:
    with store.sessions.write() as session:
        session.execute(update(StreamEvidence).where(StreamEvidence.sequence == 3).values(value=17.0))
    asked = (runs[0],) if what == "run" else ("--provider", "acme")

    ran, as_json = monitor("drift", "replay", *asked), monitor("drift", "replay", *asked, "--json")

    assert (ran.code, as_json.code) == (6, 6)
    assert "differs" in ran.out
    assert "error[replay_differs]: Epoch 0 of acme / smol (as acme/smol) is not what its evidence gives" in ran.err
    assert "after evidence 3, T4 draws-1: value 17.0 is stored, value " in ran.err
    assert as_json.document["error"]["code"] == "replay_differs"


def test_without_streams_it_says_so(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    run_id = finished_run(store, endpoint.id)

    every, one = monitor("drift", "replay", "--provider", "acme"), monitor("drift", "replay", run_id)

    assert (every.code, every.out, every.err) == (0, "", "No streams of acme are kept yet.\n")
    assert one.code == 2
    assert f"No stream has evidence of run {run_id}." in one.err


@pytest.mark.parametrize(
    "asked", [(), ("run_1", "--provider", "acme"), ("--model", "smol"), ("run_1", "--model", "smol")]
)
def test_a_run_or_a_provider_is_to_be_named(monitor: Monitor, asked: tuple[str, ...]) -> None:
    ran = monitor("drift", "replay", *asked)
    assert ran.code == 2
    assert "What to replay is not clear." in ran.err


def test_nothing_was_ever_saved(monitor: Monitor, folder: Path, data_dir: Path) -> None:
    ran = monitor("drift", "replay", "run_1")
    assert ran.code == 2
    assert "There is no run run_1." in ran.err
    assert not data_dir.exists()


def test_a_new_baseline_is_told_against_the_first_one(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    streams, watched = Streams(store.sessions), key(endpoint, Tier.LOGPROBS, "anchors-1")
    streams.open(endpoint.id, plan([watched]), baselines={watched: baseline()}, at=AT)
    moved = [Round(one.at, one.score + 0.3) for one in baseline(1)]
    streams.accept(endpoint.id, {watched: moved}, note="announced", actor="ada", at=later(1))

    ran = monitor("drift", "replay", "--provider", "acme")
    items = monitor("drift", "replay", "--provider", "acme", "--json").document["items"]

    assert (ran.code, ran.err) == (0, "")
    assert "smol, epoch 1, T1 anchors-1: it has moved since the first baseline (comparison 1, α 0.005)" in ran.out
    (found,) = items[1]["against_first"]
    assert (items[0]["against_first"], found["tier"], found["told"], found["means"]) == ([], "T1", True, None)
    assert found["level"]["value"] > 0.25
    assert found["level"]["p"] < found["alpha"] == 0.005
    assert "mean score" in found["said"]
