"""What each resource says and does: checks, runs, endpoints, configuration, alerts, silences, deliveries, status."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest

from monitor import clock
from monitor.alerts.rule import BUILT_IN
from monitor.alerts.signals import Verdicted
from monitor.check.recall import with_said
from monitor.drift.rule import Verdict
from monitor.store import EndpointRecord
from monitor.store.vocabulary import RunStatus
from monitor.verdict import (
    CauseStatement,
    ExplainedValue,
    LoopValue,
    ParameterValue,
    ProtocolStatement,
    RateValue,
    Said,
    SightingValue,
)
from probes.parameters.judgement import Effect
from probes.plan import ProbeKind
from tests.monitor.api.served import Api, assert_problem
from tests.monitor.store.material import AT, evidence, finished_run, later, result, sample, start

PROVIDER = {
    "base_url": "https://api.acme.test/v1",
    "api_key": "${env:ACME_KEY}",
    "models": [
        {"model": "smol", "name": "smol", "prices": {"input_usd_per_mtok": 0.25, "output_usd_per_mtok": 1.5}}
    ],
}  # fmt: skip


def configure(api: Api) -> Any:
    client = api.admin
    assert client.post("/api/v1/models", json={"slug": "smol", "body": {}}).status_code == 201
    made = client.post("/api/v1/providers", json={"slug": "acme", "body": PROVIDER})
    assert made.status_code == 201, made.text
    return client


def test_a_check_is_queued_its_worker_is_woken_and_its_place_is_told(api: Api, endpoint: EndpointRecord) -> None:
    wanted = {"endpoint_id": endpoint.id, "probes": ["accounting", "protocol"]}
    answer = api.as_("runs:write").post("/api/v1/checks", json=wanted)
    check = answer.json()

    assert answer.status_code == 202
    assert (check["status"], check["trigger"]) == ("queued", "api")
    assert api.bell.calls == [("monitor.execute_check", check["id"])]
    assert api.anonymous.get(answer.headers["location"]).json() == check
    entry = api.state.browse.check(check["id"])
    assert entry is not None
    assert entry.options == {"probes": ["accounting", "protocol"], "n": 40}


def test_a_check_may_have_its_streams_under_a_load(api: Api, endpoint: EndpointRecord) -> None:
    wanted: dict[str, Any] = {"endpoint_id": endpoint.id, "probes": ["latency"], "load": {"rate": 2, "sizes": [500]}}

    check = api.admin.post("/api/v1/checks", json=wanted).json()

    entry = api.state.browse.check(check["id"])
    assert entry is not None
    assert entry.options["load"] == {"per_second": 2.0, "each": 20, "sizes": [500]}
    for load in ({"rate": 101}, {"streams": 0}, {"sizes": []}, {"sizes": [200_001]}):
        assert_problem(api.admin.post("/api/v1/checks", json=wanted | {"load": load}), 422, "request_invalid")
    assert_problem(api.admin.post("/api/v1/checks", json=wanted | {"probes": ["logprobs"]}), 422, "request_invalid")


def test_a_check_by_provider_and_model_enters_the_configured_endpoint(api: Api) -> None:
    client = configure(api)
    check = client.post("/api/v1/checks", json={"provider": "acme", "model": "smol"}).json()
    assert (check["provider"], check["model"]) == ("acme", "smol")
    assert_problem(client.post("/api/v1/checks", json={"provider": "other"}), 404, "not_found")


def test_a_check_is_retried_as_a_new_one(api: Api, endpoint: EndpointRecord) -> None:
    client = api.admin
    check = client.post("/api/v1/checks", json={"endpoint_id": endpoint.id}).json()
    assert_problem(client.post(f"/api/v1/checks/{check['id']}/retry"), 409, "conflict")
    assert client.post(f"/api/v1/checks/{check['id']}/cancel").json()["status"] == "cancelled"

    again = client.post(f"/api/v1/checks/{check['id']}/retry")
    assert again.status_code == 202
    assert again.json()["id"] != check["id"]
    assert ("monitor.execute_check", again.json()["id"]) in api.bell.calls


def test_progress_comes_as_events_until_the_check_has_ended(api: Api, endpoint: EndpointRecord) -> None:
    queue = api.state.queue
    check = api.admin.post("/api/v1/checks", json={"endpoint_id": endpoint.id}).json()

    def work() -> None:
        claimed = queue.claim(check["id"], "worker", clock.now())
        assert claimed is not None
        lease = queue.extend(claimed.lease, clock.now(), done=20, planned=40)
        queue.finish(lease, status=RunStatus.SUCCEEDED, verdict=Verdict.OK, at=clock.now())

    worker = Thread(target=work)
    worker.start()
    answer = api.anonymous.get(f"/api/v1/checks/{check['id']}/events")
    worker.join()

    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [dict(line.split(": ", 1) for line in block.split("\n")) for block in answer.text.strip().split("\n\n")]
    assert [event["event"] for event in events][-1] == "finished"
    assert {event["event"] for event in events[:-1]} <= {"progress"}
    assert json.loads(events[-1]["data"])["verdict"] == "ok"


def test_a_run_has_its_evidence_and_its_samples_facts_only(api: Api, endpoint: EndpointRecord) -> None:
    run_id = api.store.begin_run(start(endpoint.id), at=AT)
    api.store.add_samples(run_id, [sample("a"), sample("b")], at=AT)
    client = api.anonymous

    samples = client.get(f"/api/v1/runs/{run_id}/samples")
    assert [each["item_key"] for each in samples.json()["items"]] == ["a", "b"]
    assert "private prompt" not in samples.text
    finished = client.get(f"/api/v1/runs/{finished_run(api.store, endpoint.id)}").json()
    assert finished["evidence"][0]["verdict"] == "ok"
    assert finished["evidence"][0]["interval"] == {"low": 0.001, "high": 0.023, "level": 0.95}
    assert finished["started_at"] == "2026-11-29T12:00:00Z"


def test_a_run_has_what_is_said_beside_its_evidence(api: Api, endpoint: EndpointRecord) -> None:
    said = Said(
        rates=(RateValue(name="schema_ok", value=0.5, numerator=1, denominator=2, method="wilson"),),
        loops=(LoopValue(scenario="berths", rounds=4, passed=1, trials=2),),
        parameters=(ParameterValue(name="n", effect=Effect.IGNORED, before=Effect.ACTS),),
        protocol=ProtocolStatement(caching="fresh", replays=8),
        sightings=(SightingValue(feature="counts", logs=(0.0, -5.0, -5.0, -5.0, -5.0)),),
        explained=ExplainedValue(likelihoods={"w4-g64": 20.0}, sizes={}, divergences=(("w4-g64", "nf4", 0.1),)),
        causes=(CauseStatement(name="w4-g64", kind="weights", weight=0.9, evidence=("first tokens moved",)),),
        ruler="about 6 times what int8 would make",
    )
    kept = replace(result(), evidence=with_said(result().evidence, said))
    run_id = finished_run(api.store, endpoint.id, outcome=kept)

    found = api.anonymous.get(f"/api/v1/runs/{run_id}").json()

    assert Said.model_validate({name: found[name] for name in Said.model_fields}) == said
    assert found["evidence"][0]["detail"] == {"seed": 7}


def test_an_endpoint_has_its_price_parameters_and_verdict(api: Api) -> None:
    client = configure(api)
    check = client.post("/api/v1/checks", json={"provider": "acme"}).json()
    claimed = api.state.queue.claim(check["id"], "w", clock.now())
    assert claimed is not None
    at, asked = clock.now(), {"endpoint_id": check["endpoint_id"], "check_id": check["id"]}
    run_id = finished_run(api.store, **asked, at=at - timedelta(days=30), outcome=result(verdict=Verdict.DRIFT))
    api.state.queue.finish(claimed.lease, status=RunStatus.SUCCEEDED, verdict=Verdict.DRIFT, at=at)
    suite = replace(result(), evidence=[evidence("evals")])
    finished_run(api.store, check["endpoint_id"], at, probe=ProbeKind.EVALS, outcome=suite)
    api.store.save_capabilities(check["endpoint_id"], {"unsupported": ["seed"], "logprobs": True})

    found = client.get(f"/api/v1/endpoints/{check['endpoint_id']}").json()
    assert (found["provider_name"], found["model_id"], found["configured"]) == ("acme", "smol", True)
    assert found["pricing"] == {"prompt": "0.00000025", "completion": "0.0000015"}
    assert "temperature" in found["supported_parameters"]
    assert "seed" not in found["supported_parameters"]
    assert (found["verdict"], found["last_check"]["id"]) == ("drift", check["id"])
    moved, suite_found = found["standing"]
    assert (moved["metric"], moved["run_id"], moved["since"]) == ("logprobs", run_id, found["verdict_since"])
    assert (moved["old"], found["verdict_old"], suite_found["verdict"]) == (True, True, "ok")
    status = client.get("/api/v1/status").json()
    assert status["verdicts"] == {"drift": 1}
    badge = client.get(f"/api/v1/badge/{check['endpoint_id']}.svg")
    assert badge.headers["content-type"] == "image/svg+xml"
    assert ">drift, out of date<" in badge.text


def test_a_baseline_is_reset_and_accepted(api: Api, endpoint: EndpointRecord) -> None:
    run_id = finished_run(api.store, endpoint.id)
    client = api.as_("runs:write")
    accepted = client.post(f"/api/v1/endpoints/{endpoint.id}/baseline:accept", json={"note": "as agreed"})
    assert [each["runs"][0]["run_id"] for each in accepted.json()] == [run_id]
    closed = client.post(f"/api/v1/endpoints/{endpoint.id}/baseline:reset", json={"note": "a new model"})
    assert [each["status"] for each in closed.json()] == ["closed"]
    listed = client.get(f"/api/v1/baselines?endpoint={endpoint.id}&status=closed").json()["items"]
    assert [each["id"] for each in listed] == [each["id"] for each in closed.json()]
    kinds = [each["kind"] for each in client.get(f"/api/v1/change-events?endpoint={endpoint.id}").json()["items"]]
    assert kinds == ["baseline", "baseline"]


def test_an_object_made_here_is_changed_and_taken_out_here(api: Api) -> None:
    client = configure(api)
    found = client.get("/api/v1/providers/acme")
    assert found.headers["etag"] == '"1"'

    patch = {"body": {"timeout": 30.0, "api_key": None}}
    changed = client.patch("/api/v1/providers/acme", json=patch, headers={"If-Match": found.headers["etag"]})
    assert changed.status_code == 200, changed.text
    assert changed.headers["etag"] == '"2"'
    assert changed.json()["body"]["timeout"] == 30.0
    assert "api_key" not in changed.json()["body"]
    assert client.get("/api/v1/config").json()["document"]["providers"][0]["timeout"] == 30.0

    gone = client.delete("/api/v1/providers/acme", headers={"If-Match": '"2"'})
    assert (gone.status_code, gone.json()["enabled"]) == (200, False)
    assert_problem(client.delete("/api/v1/providers/acme", headers={"If-Match": '"3"'}), 404, "not_found")
    actions = [entry["action"] for entry in client.get("/api/v1/audit").json()["items"]]
    assert actions[:3] == ["config.disable", "config.update", "config.create"]


def test_a_document_is_checked_planned_applied_and_then_owns_its_objects(api: Api) -> None:
    client = api.admin
    yaml = b"version: 1\nmodels: {smol: {}}\nproviders:\n  - {slug: acme, base_url: 'https://a.test/v1', modls: []}\n"
    bad = client.post("/api/v1/config:validate", content=yaml, headers={"content-type": "application/yaml"}).json()
    assert bad["valid"] is False
    assert any(problem["line"] == 4 for problem in bad["problems"])
    assert_problem(client.post("/api/v1/config:apply", content=yaml), 422, "config_invalid")

    document = {"version": 1, "models": {"smol": {}}, "providers": [{"slug": "acme", **PROVIDER}]}
    planned = client.post("/api/v1/config:apply?dry_run=true", json=document).json()
    assert {(each["kind"], each["slug"]) for each in planned["create"]} == {("model", "smol"), ("provider", "acme")}
    assert client.get("/api/v1/providers").json()["items"] == []
    assert client.post("/api/v1/config:apply", json=document).json()["dry_run"] is False

    found = client.get("/api/v1/providers/acme").json()
    assert found["managed_by"] == "file"
    assert found["source"].startswith("/api/v1/config:apply:")
    refused = client.patch("/api/v1/providers/acme", json={"body": {}}, headers={"If-Match": '"1"'})
    assert_problem(refused, 409, "managed_by_file")


@pytest.fixture
def alert_id(api: Api, endpoint: EndpointRecord) -> str:
    """A confirmed drift."""
    labels = {"provider": "acme", "model": "smol"}
    for minute, fresh in ((0, False), (5, True)):
        run_id = finished_run(api.store, endpoint.id, later(minute))
        finding = {"value": 0.4, "runs": [run_id]}
        signal = Verdicted(f"chk-{minute}", later(minute), "logprobs", Verdict.DRIFT, fresh, finding=finding)
        api.state.alerts.apply(endpoint.id, labels, [signal], BUILT_IN, at=later(minute))
    (alert,) = api.anonymous.get("/api/v1/alerts?open=true&provider=acme").json()["items"]
    return str(alert["id"])


def test_an_alert_is_acknowledged_commented_and_resolved_with_its_history(api: Api, alert_id: str) -> None:
    client = api.as_("alerts:write")
    first = client.get(f"/api/v1/alerts/{alert_id}")
    acked = client.post(
        f"/api/v1/alerts/{alert_id}/ack", json={"note": "looking"}, headers={"If-Match": first.headers["etag"]}
    )
    assert acked.status_code == 200, acked.text
    assert acked.json()["acked_by"].startswith("token:tok_")
    again = client.post(f"/api/v1/alerts/{alert_id}/ack", headers={"If-Match": first.headers["etag"]})
    assert_problem(again, 412, "precondition_failed")
    assert client.post(f"/api/v1/alerts/{alert_id}/unack").json()["acked_at"] is None
    assert client.post(f"/api/v1/alerts/{alert_id}/comment", json={"text": "asked them"}).status_code == 200
    assert client.post(f"/api/v1/alerts/{alert_id}/resolve").json()["state"] == "resolved"
    assert_problem(client.post(f"/api/v1/alerts/{alert_id}/ack"), 409, "conflict")

    events = client.get(f"/api/v1/alerts/{alert_id}/events").json()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert ("monitor.fan_out",) in api.bell.calls


def test_a_silence_holds_for_a_time_and_is_ended_with_its_version(api: Api) -> None:
    client = api.as_("alerts:write")
    new = {"matchers": {"provider": "acme"}, "ends_at": "2020-01-01T00:00:00Z", "comment": "moving"}
    assert_problem(client.post("/api/v1/silences", json=new), 422, "request_invalid")
    new["ends_at"] = (clock.now() + timedelta(hours=1)).isoformat()
    made = client.post("/api/v1/silences", json=new)
    assert made.status_code == 201, made.text
    address = made.headers["location"]

    assert_problem(client.delete(address), 428, "precondition_required")
    assert client.delete(address, headers={"If-Match": made.headers["etag"]}).status_code == 200
    assert client.get("/api/v1/silences").json()["items"] == []
    assert len(client.get("/api/v1/silences?over=true").json()["items"]) == 1
