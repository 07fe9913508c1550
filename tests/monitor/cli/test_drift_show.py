"""`monitor drift show`: how streams stand, for people and as one document; and what an acceptance makes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.drift.evidence import Inapplicable, Tier
from monitor.store import EndpointRecord, Store
from monitor.store.streams import Streams
from monitor.streams_document import ShownStreams
from tests.monitor.cli.commands import Monitor
from tests.monitor.store.material import AT, finished_run, identity
from tests.monitor.store.streamed import baseline as days_before
from tests.monitor.store.streamed import fed, fed_each, hourly, key, levelled, plan, said, scored

SHOW = ("drift", "show", "--provider", "acme")
ACCEPT = ("baseline", "accept", "--provider", "acme", "--note", "they told us")


def lines(monitor: Monitor, *more: str) -> list[str]:
    ran = monitor(*SHOW, *more)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.splitlines()


def test_an_endpoint_without_an_epoch_is_told_what_opens_one(monitor: Monitor, endpoint: EndpointRecord) -> None:
    name, coming = lines(monitor)
    assert name == "acme / smol (as acme/smol)"
    assert coming.startswith("next: No epoch is open. The next saved check")


def test_a_quiet_endpoint(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [0.1, 0.2])

    name, head, epoch, promised, header, row, coming = lines(monitor)

    assert name == "acme / smol (as acme/smol)"
    assert head.startswith("ok: E ")
    assert head.endswith(", level quiet, looked at 2026-11-29 13:00 UTC")
    assert epoch == "epoch 0, 2026-11-29 12:00 to 2026-12-29 12:00 UTC, by stack stack-1: 2 rounds"
    assert promised == (
        "promised: while mean scores keep to the levels below, E reaches 1,000 within the 30 days with a chance of at "
        "most 0.1%, however often one looks"
    )
    assert header.split()[:5] == ["stream", "rounds", "E", "weight", "verdict"]
    assert row.split()[:3] == ["T1", "anchors-1", "2"]
    assert row.split()[4:7] == ["100%", "ok", "betting"]
    assert "δ 0.020" in row
    assert coming == "next: The epoch ends 2026-12-29 12:00 UTC: levels stay, and E starts at 1 again."


def test_a_drift_is_told_with_its_onset_and_what_to_do(
    monitor: Monitor, store: Store, endpoint: EndpointRecord
) -> None:
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [0.1] * 6 + [1.0] * 12)

    out = "\n".join(lines(monitor))

    assert "DRIFT: E " in out
    assert re.search(
        r"the change began after 2026-11-29 1[3-7]:00, not later than 2026-11-29 (18|19|20|21):00, "
        r"likeliest 2026-11-29 18:00; detected 2026-11-(29 2\d|30 0\d):00 UTC",
        out,
    )
    assert re.search(r"drifted 2026-11-(29 2\d|30 0\d):00 \(E ", out)
    assert "monitor baseline accept --provider acme --model smol --note" in out


def test_a_stream_that_calibrates_or_says_nothing_tells_why(
    monitor: Monitor, store: Store, endpoint: EndpointRecord
) -> None:
    ranked, silent = key(endpoint, Tier.LOGPROBS, "a" * 64), key(endpoint, Tier.BORDER)
    Streams(store.sessions).open(endpoint.id, plan([ranked, silent]), at=AT)
    nothing = said(silent, Inapplicable("[b]no border[/b] \x1b[2Jinputs"))
    fed(store, endpoint, scored(ranked, days_before()[-1]), nothing)

    out = "\n".join(lines(monitor))

    assert "inconclusive: E 1" in out
    assert f"T1 {'a' * 19}…" in out
    assert "calibrating since 2026-11-28 23:00" in out
    assert "levels come from 14 days, at the earliest 2026-12-13 00:00 UTC" in out
    assert "[b]no border[/b] " in out
    assert "\x1b" not in out


def test_an_escalation_is_told(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    watched, asked = key(endpoint), key(endpoint, Tier.GREEDY, "alone-1")
    Streams(store.sessions).open(endpoint.id, plan([watched], [asked]), at=AT)
    fed_each(store, endpoint, watched, [3e-3] * 4)

    out = "\n".join(lines(monitor))

    assert "SUSPECT" in out
    assert "T3 alone-1 (escalation 1)" in out
    assert "none needed (reference)" in out
    assert "An escalation is open: T3 alone-1, on answers that no stream has seen. At 1,000 it is drift." in out


def test_the_document_is_typed_and_whole(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [0.1] * 6 + [1.0] * 12)

    printed = monitor(*SHOW, "--model", "smol", "--json").document

    document = ShownStreams.model_validate(printed)
    assert document.model_dump(mode="json", by_alias=True) == printed
    (found,) = document.items
    assert printed["schema"] == "monitor.drift_show/1"
    assert (found.endpoint_id, found.verdict, found.level) == (endpoint.id, "drift", "drift")
    assert found.promise is not None
    assert (found.promise.alpha, found.promise.epoch_days, found.promise.drift_at) == (0.001, 30.0, 1000.0)
    (stream,) = found.streams
    assert (stream.tier, stream.phase, stream.null, stream.rounds) == ("T1", "betting", "lawful_mean", 18)
    assert stream.levels is not None
    assert (stream.levels.days, stream.levels.delta) == (14, 0.02)
    assert stream.onset is not None
    assert found.onset is not None
    assert (stream.onset.first, stream.onset.until) == (found.onset.first, found.onset.until)
    assert [event.event for event in found.events] == ["shown", "suspected", "drifted"]
    assert found.events[-1].run_id is not None


def test_each_endpoint_of_the_provider_is_shown(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    store.ensure_endpoint(identity(model="large"), at=AT)
    names = [item["model"] for item in monitor(*SHOW, "--json").document["items"]]
    assert sorted(names) == ["large", "smol"]
    assert [item["model"] for item in monitor(*SHOW, "--model", "large", "--json").document["items"]] == ["large"]


def test_nothing_was_ever_saved(monitor: Monitor, folder: Path, data_dir: Path) -> None:
    ran = monitor(*SHOW)
    assert ran.code == 2
    assert "No provider 'acme' is configured or was ever probed" in ran.err
    assert not data_dir.exists()


def test_baseline_accept_takes_the_streams_along(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    run_id = finished_run(store, endpoint.id)
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [0.1] * 6 + [1.0] * 12)

    ran = monitor(*ACCEPT)

    assert (ran.code, ran.err) == (0, "")
    baseline, streams = ran.out.splitlines()
    assert baseline == f"acme / smol (as acme/smol) logprobs: v1 with {run_id}"
    assert streams.startswith("acme / smol (as acme/smol) streams: epoch 1 with 1")
    assert streams.endswith(" rounds since 2026-11-29 20:00 UTC")
    closed, opened = Streams(store.sessions).epochs(endpoint.id)
    assert (closed.why, closed.note, opened.why) == ("accepted", "they told us", None)
    assert (closed.closed_by or "").startswith("cli:")


@pytest.mark.parametrize("narrowed", ["--run", "--suite"])
def test_an_acceptance_of_less_leaves_the_streams(
    monitor: Monitor, store: Store, endpoint: EndpointRecord, narrowed: str
) -> None:
    run_id = finished_run(store, endpoint.id)
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [0.1] * 6 + [1.0] * 12)

    ran = monitor(*ACCEPT, narrowed, run_id if narrowed == "--run" else "night")

    assert ran.code == (0 if narrowed == "--run" else 2)
    assert [one.why for one in Streams(store.sessions).epochs(endpoint.id)] == [None]
