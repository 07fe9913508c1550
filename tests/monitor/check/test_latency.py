"""The latency probe in whole checks: what is measured under load, and what is found of the weeks before."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from monitor import clock
from monitor.check.budget import Budget
from monitor.check.identity import identity_of
from monitor.check.latency import moves_before
from monitor.check.options import CheckOptions, Silent
from monitor.check.run import run_check
from monitor.config import EndpointConfig, load_config
from monitor.datadir import DataDir
from monitor.drift.latency_past import DAYS, WEEKS
from monitor.drift.rule import Verdict
from monitor.render.junit import junit
from monitor.render.markdown import markdown
from monitor.render.terminal import print_verdict
from monitor.store import MetricPoint, Store
from monitor.store.rollups import add_to_rollups
from monitor.store.series import Series
from monitor.verdict import RateValue, VerdictDocument
from probes.load.probe import Load
from probes.plan import ProbeKind
from tests.endpoints.lawful import WORDS
from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer

LOAD = Load(per_second=200.0, each=4, sizes=(60, 1_500), max_tokens=10, replays=3)


def checked(handler: Handler, folder: Path, *slos: dict[str, Any], load: Load | None = LOAD) -> VerdictDocument:
    with ScriptedServer(handler) as server:
        options = CheckOptions(probes=(ProbeKind.LATENCY,), load=load)
        return run_check(endpoint_of(server.base_url, folder, slos), options, DataDir(folder / "data"), Silent())


def endpoint_of(base_url: str, folder: Path, slos: tuple[dict[str, Any], ...] = ()) -> EndpointConfig:
    file = folder / "providers.yaml"
    served = {"model": "lark", "name": "acme/lark-30b", "slos": list(slos)}
    provider = {"slug": "x", "base_url": base_url, "allow_private": True, "models": [served]}
    file.write_text(yaml.safe_dump({"version": 1, "models": {"lark": {}}, "providers": [provider]}))
    (endpoint,) = load_config(file).endpoints("x")
    return endpoint


def rates(document: VerdictDocument) -> dict[str, RateValue]:
    return {one.name: one for one in document.rates}


async def holding_back(received: Received, connection: Connection) -> None:
    """Streams in one write: the whole answer was made before any of it left."""
    if not received.json["stream"]:
        await ScriptedModel()(received, connection)
        return
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000, "model": "m"}
    deltas: list[Any] = [({"content": word}, None) for word in WORDS] + [({}, "length")]
    events: list[Any] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} for delta, finish in deltas
    ]
    usage = {"prompt_tokens": 60, "completion_tokens": len(WORDS), "total_tokens": 60 + len(WORDS)}
    events.append({**head, "choices": [], "usage": usage})
    await connection.begin()
    await connection.chunk("".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n")
    await connection.end()


def test_streams_are_measured_by_size_with_their_load_beside_them(tmp_path: Path) -> None:
    document = checked(ScriptedModel(), tmp_path)

    (check,) = document.checks
    assert (check.verdict, check.unit, check.n) == (Verdict.INCONCLUSIVE, "s", 8)
    assert {value.bucket for value in document.latency} == {"0k-1k", "1k-4k"}
    assert {value.metric for value in document.latency} >= {"ttft", "ttfa", "end_to_end"}
    assert all(value.n == 4 for value in document.latency if value.metric == "ttft")
    load = document.load
    assert load is not None
    assert (load.at_once, load.streams, load.caching, load.replays) == (4, 8, "fresh", 3)
    assert load.per_second == LOAD.per_second


@pytest.fixture(scope="module")
def held_back(tmp_path_factory: pytest.TempPathFactory) -> VerdictDocument:
    return checked(holding_back, tmp_path_factory.mktemp("held"), {"ttft": 600})


def test_output_that_is_held_back_is_found(held_back: VerdictDocument) -> None:
    document = held_back

    assert (rates(document)["buffered"].numerator, rates(document)["buffered"].denominator) == (8, 8)
    assert "8 of 8 streams held back" in document.checks[0].reason
    assert not any(value.metric == "tpot" for value in document.latency)


def test_answers_from_a_cache_are_found(tmp_path: Path) -> None:
    document = checked(ScriptedModel(caches=True), tmp_path)

    assert document.load is not None
    assert document.load.caching == "cached"
    assert "answers come from a cache" in document.checks[0].reason


def test_goodput_is_told_by_size_and_counts_who_waited_for_a_stall(tmp_path: Path) -> None:
    """Nobody is served before all have come who can: what was due meanwhile cannot have been in time."""
    arrived = 0
    free = asyncio.Event()

    async def stalling(received: Received, connection: Connection) -> None:
        nonlocal arrived, free
        arrived += received.json["stream"]
        if received.json["stream"]:
            if arrived == 4:
                await asyncio.sleep(0.2)
                free.set()
            await free.wait()
        await ScriptedModel()(received, connection)

    slos = ({"up_to": 1_000, "ttft": 0.1}, {"ttft": 600, "end_to_end": 600})
    document = checked(stalling, tmp_path, *slos)

    found = rates(document)
    assert (found["goodput.1k-4k"].numerator, found["goodput.1k-4k"].denominator) == (4, 4)
    small = found["goodput.0k-1k"]
    assert small.denominator == 4
    assert found["goodput"].numerator == 4 + small.numerator
    assert document.load is not None
    # At 200 a second all the others were due within the stall.
    assert document.load.late >= 1
    assert small.value is not None
    assert small.value < 1.0


def test_a_stream_that_goes_alone_has_no_load_and_keeps_its_promise(tmp_path: Path) -> None:
    document = checked(ScriptedModel(), tmp_path, {"end_to_end": 600}, load=None)

    assert document.load is None
    assert rates(document)["goodput"].value == 1.0
    assert document.checks[0].reason == "reported"
    assert document.verdict is Verdict.INCONCLUSIVE


def with_past(folder: Path, seconds: Callable[[timedelta], float]) -> None:
    """Medians of every second hour of the last weeks, by their ages."""
    now, hour = clock.now(), timedelta(hours=2)
    data = DataDir(folder / "data")
    data.path.mkdir()
    with Store.open(data.database, at=now) as store:
        record = store.ensure_endpoint(identity_of(endpoint_of("http://127.0.0.1:9/v1", folder)), at=now)
        with store.sessions.write() as session:
            for step in range(1, (DAYS + 7 * WEEKS) * 12):
                points = [MetricPoint("ttft_p50", seconds(step * hour), 8)]
                add_to_rollups(session, record.id, now - step * hour, points)


@pytest.mark.parametrize(("factor", "said"), [(1.0, Verdict.OK), (1.5, Verdict.SUSPECT), (0.5, Verdict.SUSPECT)])
def test_streams_are_held_against_the_same_hours_of_the_weeks_before(
    tmp_path: Path, factor: float, said: Verdict
) -> None:
    lately = timedelta(days=DAYS)
    with_past(tmp_path, lambda age: (factor if age < lately else 1.0) * (1.0 + (age.seconds % 7) / 100))

    document = checked(ScriptedModel(), tmp_path, load=None)

    (move,) = document.latency_moves
    assert (document.checks[0].verdict, document.verdict) == (said, said)
    assert (move.metric, move.held) == ("ttft", said is Verdict.SUSPECT)
    assert 1.0 + move.shift == pytest.approx(factor, rel=0.05)
    with Store.open(DataDir(tmp_path / "data").database, at=clock.now()) as store:
        assert moves_before(store.evidence(document.run_ids[0])) == document.latency_moves


def test_every_form_of_the_report_tells_of_it(held_back: VerdictDocument) -> None:
    document, text = held_back, io.StringIO()

    print_verdict(Console(file=text, width=200), document, 4)

    assert "8 streams at" in text.getvalue()
    assert "goodput.0k-1k" in text.getvalue()
    assert "| 0k-1k | end\\_to\\_end | " in markdown(document)
    assert "8 of 8 streams held back" in junit(document, "drift")
    again = VerdictDocument.model_validate_json(document.to_json())
    assert again == document


def test_streams_under_another_load_make_another_series(tmp_path: Path) -> None:
    usual = Load(per_second=500.0, each=2, replays=1)
    for load in (usual, replace(usual, sizes=(60,)), None):
        checked(ScriptedModel(), tmp_path, load=load)

    with Store.open(DataDir(tmp_path / "data").database, at=clock.now()) as store:
        (record,) = store.endpoints()
        kept = {name.rpartition("ttft")[0] for name in Series(store.sessions).metrics(record.id) if "ttft" in name}

    (other,) = kept - {"", "load.500rps.0k-1k.", "load.500rps.1k-4k.", "load.500rps.4k-16k."}
    assert re.fullmatch(r"load\.500rps\.[0-9a-f]{6}\.0k-1k\.", other)


def test_a_load_is_made_small_enough_for_a_budget(tmp_path: Path) -> None:
    with ScriptedServer(ScriptedModel()) as server:
        options = CheckOptions(probes=(ProbeKind.LATENCY,), load=LOAD, budget=Budget(requests=10))
        document = run_check(endpoint_of(server.base_url, tmp_path), options, DataDir(tmp_path / "data"), Silent())

    assert document.load is not None
    assert (len(server.received), document.load.streams, document.partial) == (10, 4, False)
