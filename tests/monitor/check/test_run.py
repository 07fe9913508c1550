"""A check in its caller's own process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from sqlalchemy import select

from monitor import clock
from monitor.check.budget import Budget
from monitor.check.options import CheckOptions, Silent
from monitor.check.plans import Drawn, Extent, make_plans
from monitor.check.run import run_check
from monitor.config import EndpointConfig, load_config
from monitor.datadir import DataDir
from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.rule import Verdict
from monitor.drift.sequential import AverageProcess, Wealth
from monitor.standing import STREAMS
from monitor.store import EvidenceRecord, RunResult, RunStatus, Store
from monitor.store.streams import Streams
from monitor.store.tables import EndpointCheck, Sample, Spending
from probes.plan import ProbeKind
from tests.endpoints.scripted_model import DrawingModel, ScriptedModel
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.monitor.store.material import start

PRICES = {"input_usd_per_mtok": 1000.0, "output_usd_per_mtok": 1000.0}


def test_what_a_check_by_hand_cost_counts_to_its_providers_day(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    with ScriptedServer(ScriptedModel()) as server:
        endpoint = endpoint_of(server, tmp_path)

        documents = [
            run_check(endpoint, CheckOptions(probes=(ProbeKind.ACCOUNTING,), n=4), data, Silent()) for _ in range(2)
        ]

    with Store.open(data.database, at=clock.now()) as store, store.sessions.read() as session:
        spending = session.scalars(select(Spending)).one()
    assert (spending.provider, spending.reserved_microusd) == ("x", 0)
    assert spending.settled_microusd == round(sum(document.cost.usd or 0.0 for document in documents) * 1e6) > 0


def test_what_a_check_by_hand_asked_can_be_drawn_again_from_what_is_stored_of_it(tmp_path: Path) -> None:
    data, options = DataDir(tmp_path / "data"), CheckOptions(probes=(ProbeKind.LATENCY,))
    with ScriptedServer(ScriptedModel()) as server:
        run_check(endpoint_of(server, tmp_path), options, data, Silent())

    with Store.open(data.database, at=clock.now()) as store, store.sessions.read() as session:
        check = session.scalars(select(EndpointCheck)).one()
        asked = session.scalars(select(Sample.item_key)).all()
    drawn = Drawn(data.seed(), bytes.fromhex(check.nonce), check.slot_at)
    again = make_plans(options, drawn, has_reference=False, extent=Extent(options.n))
    assert sorted(asked) == sorted(item.key for plan in again.plans for item in plan.items)


def test_what_one_probe_finds_pays_for_all_probes_of_the_check(tmp_path: Path) -> None:
    data, models = DataDir(tmp_path / "data"), [ScriptedModel(), ScriptedModel(extra_prompt_tokens=7)]
    options = CheckOptions(probes=(ProbeKind.ACCOUNTING, ProbeKind.LATENCY), n=16)
    with ScriptedServer(models[0]) as server:
        endpoint = endpoint_of(server, tmp_path)
        run_check(endpoint, options, data, Silent())
        server.handler = models[1]
        document = run_check(endpoint, options, data, Silent())

    with Store.open(data.database, at=clock.now()) as store:
        (found,) = store.evidence(document.run_ids[0])
    assert (found.metric, found.verdict) == ("accounting", Verdict.DRIFT)
    assert found.p is not None
    assert found.adjusted_p == 2 * found.p


def test_a_check_feeds_the_streams_of_its_endpoint_unless_it_keeps_nothing(tmp_path: Path) -> None:
    data, options = DataDir(tmp_path / "data"), CheckOptions(probes=(ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING), n=8)
    with ScriptedServer(ScriptedModel()) as server:
        endpoint = endpoint_of(server, tmp_path)
        for save in (True, True, False):
            run_check(endpoint, replace(options, save=save), data, Silent())

    with Store.open(data.database, at=clock.now()) as store:
        (record,) = store.endpoints()
        streams = Streams(store.sessions).states(record.id).streams
    # The first one is a baseline, and says nothing yet.
    process = streams[StreamKey(record.id, Tier.PROTOCOL, "accounting")].process
    assert isinstance(process, AverageProcess)
    assert process.rounds == 1


def test_while_streams_say_that_it_moved_each_check_tells_what_it_saw_of_that(tmp_path: Path) -> None:
    data, options = DataDir(tmp_path / "data"), CheckOptions(probes=(ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING), n=16)
    with ScriptedServer(ScriptedModel()) as server:
        endpoint = endpoint_of(server, tmp_path)
        run_check(endpoint, options, data, Silent())
        before = run_check(endpoint, options, data, Silent())
        with Store.open(data.database, at=clock.now()) as store:
            (record,) = store.endpoints()
            told = EvidenceRecord(STREAMS, STREAMS, "1", Verdict.DRIFT, counted=True)
            run_id = store.begin_run(start(record.id), at=clock.now())
            store.finish_run(run_id, RunResult(RunStatus.SUCCEEDED, evidence=[told]), at=clock.now())
        after = run_check(endpoint, options, data, Silent())

    assert before.causes == ()
    assert after.causes != ()
    assert {check.verdict for check in after.checks}.isdisjoint({Verdict.DRIFT, Verdict.SUSPECT})


def test_draws_of_another_temperature_than_was_asked_for_are_drift(tmp_path: Path) -> None:
    data, options = DataDir(tmp_path / "data"), CheckOptions(probes=(ProbeKind.SAMPLING,))
    model = DrawingModel()
    with ScriptedServer(model) as server:
        endpoint = endpoint_of(server, tmp_path)
        first, *others = (run_check(endpoint, options, data, Silent()) for _ in range(6))
        model.temperature = 0.3
        changed = run_check(endpoint, options, data, Silent())

    assert (first.enrolled, {one.verdict for one in others}) == (True, {Verdict.INCONCLUSIVE})
    check, added_up = changed.checks
    assert (check.probe, check.verdict, changed.verdict) == ("sampling", Verdict.DRIFT, Verdict.DRIFT)
    assert added_up.probe == "streams"
    assert "temperature" in check.reason
    with Store.open(data.database, at=clock.now()) as store:
        (record,) = store.endpoints()
        streams = Streams(store.sessions).states(record.id).streams
    # The fifth run is the first with draws enough before it.
    process = streams[StreamKey(record.id, Tier.SAMPLING, "draws")].process
    assert isinstance(process, Wealth)
    assert process.value > 1.0


def test_greedy_answers_that_no_reference_reads_are_no_pass(tmp_path: Path) -> None:
    with ScriptedServer(ScriptedModel()) as server:
        options = CheckOptions(probes=(ProbeKind.GREEDY,))
        document = run_check(endpoint_of(server, tmp_path), options, DataDir(tmp_path / "data"), Silent())

    (check,) = document.checks
    assert (check.verdict, check.reason) == (Verdict.INAPPLICABLE, "no reference that could read the answers")


@pytest.mark.parametrize("most", [5, 8, 12])
def test_a_check_is_made_small_enough_for_a_number_of_requests(tmp_path: Path, most: int) -> None:
    with ScriptedServer(ScriptedModel()) as server:
        document = run_check(
            endpoint_of(server, tmp_path), options_of(Budget(requests=most)), DataDir(tmp_path / "data"), Silent()
        )

    assert (len(server.received), document.partial) == (min(most, 8), False)


def test_tries_count_as_requests_and_none_is_sent_beyond_the_limit(tmp_path: Path) -> None:
    model = ScriptedModel()

    async def every_other_fails(received: Received, connection: Connection) -> None:
        if len(server.received) % 2:
            await connection.reply(503, {"error": {"message": "overloaded"}}, headers={"Retry-After": "0"})
        else:
            await model(received, connection)

    with ScriptedServer(every_other_fails) as server:
        document = run_check(
            endpoint_of(server, tmp_path), options_of(Budget(requests=8)), DataDir(tmp_path / "data"), Silent()
        )

    assert 4 < len(server.received) <= 8
    assert document.partial


def test_a_number_of_tokens_ends_the_asking(tmp_path: Path) -> None:
    with ScriptedServer(ScriptedModel(extra_prompt_tokens=10_000)) as server:
        document = run_check(
            endpoint_of(server, tmp_path), options_of(Budget(tokens=15_000)), DataDir(tmp_path / "data"), Silent()
        )

    assert document.partial
    # The second answer is one too many; the three beside it, as four go side by side, may have come as well.
    assert 15_000 <= document.cost.tokens_in < 60_000
    assert len(server.received) < 8


def endpoint_of(server: ScriptedServer, folder: Path) -> EndpointConfig:
    file = folder / "providers.yaml"
    served = {"model": "lark", "name": "acme/lark-30b", "prices": PRICES}
    provider = {"slug": "x", "base_url": server.base_url, "allow_private": True, "models": [served]}
    file.write_text(yaml.safe_dump({"version": 1, "models": {"lark": {}}, "providers": [provider]}))
    (endpoint,) = load_config(file).endpoints("x")
    return endpoint


def options_of(budget: Budget) -> CheckOptions:
    return CheckOptions(probes=(ProbeKind.ACCOUNTING,), n=8, budget=budget)
