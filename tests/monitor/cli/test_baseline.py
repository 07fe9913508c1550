"""`monitor baseline`: what an endpoint is compared with, and a person's word on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.store import BaselineRole, EndpointRecord, Enrol, Join, Store
from probes.plan import ProbeKind
from tests.monitor.cli.commands import Monitor
from tests.monitor.store.material import AT, finished_run, identity, later, result, start


def enrol(store: Store, endpoint: EndpointRecord, probe: ProbeKind = ProbeKind.LOGPROBS) -> str:
    run_id = store.begin_run(start(endpoint.id, probe), at=AT)
    baseline = store.finish_run(run_id, result(baseline=Enrol()), at=AT)
    assert baseline is not None
    return run_id


def test_show_tells_each_baseline_in_a_line(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    first = enrol(store, endpoint)
    baseline = store.active_baseline(endpoint.id, ProbeKind.LOGPROBS)
    assert baseline is not None
    joined = store.begin_run(start(endpoint.id), at=later(1))
    store.finish_run(joined, result(baseline=Join(baseline.id)), at=later(1))
    latest = finished_run(store, endpoint.id, later(2))
    store.accept_baseline(endpoint.id, note="[b]they told us[/b]\x1b[2J", at=later(3))

    ran = monitor("baseline", "show", "--provider", "acme")

    assert (ran.code, ran.err) == (0, "")
    _, old, new = [line.split() for line in ran.out.splitlines()]
    assert old == [
        *("smol", "acme/smol", "logprobs", "v1", "closed", "2026-11-29", "12:00", first, "+", "1", "first", "run"),
    ]
    assert new[3:5] == ["v2", "active"]
    assert new[7:] == [latest, "+", "0", "person", "[b]they", "told", "us[/b][2J"]


def test_show_as_json(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    run_id = enrol(store, endpoint)

    document = monitor("baseline", "show", "--provider", "acme", "--json").document

    (item,) = document["items"]
    assert document["schema"] == "monitor.baseline/1"
    assert (item["probe"], item["version"], item["status"], item["note"]) == ("logprobs", 1, "active", None)
    assert item["runs"] == [{"run_id": run_id, "role": BaselineRole.ENROLMENT.value}]
    assert item["created_at"] == "2026-11-29T12:00:00+00:00"


def test_show_without_any_is_no_error(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    ran = monitor("baseline", "show", "--provider", "acme")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "No baseline of acme yet. The first saved run of `monitor probe` enrols.\n"


def test_accept_takes_the_latest_runs(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    enrol(store, endpoint)
    latest = finished_run(store, endpoint.id, later(1))
    counted = finished_run(store, endpoint.id, later(1), probe=ProbeKind.ACCOUNTING)

    ran = monitor("baseline", "accept", "--provider", "acme", "--note", "new GPUs, announced")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"acme / smol (as acme/smol) logprobs: v2 with {latest}",
        f"acme / smol (as acme/smol) accounting: v1 with {counted}",
    ]
    active = store.active_baseline(endpoint.id, ProbeKind.LOGPROBS)
    assert active is not None
    assert active.note == "new GPUs, announced"


def test_accept_takes_the_run_it_is_told(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    enrol(store, endpoint)
    named = finished_run(store, endpoint.id, later(1))
    finished_run(store, endpoint.id, later(2))

    ran = monitor("baseline", "accept", "--provider", "acme", "--run", named, "--note", "that one")

    assert ran.out == f"acme / smol (as acme/smol) logprobs: v2 with {named}\n"


def test_accept_refuses_runs_that_are_not_the_providers(
    monitor: Monitor, store: Store, endpoint: EndpointRecord
) -> None:
    enrol(store, endpoint)
    foreign = finished_run(store, store.ensure_endpoint(identity("umbrella"), at=AT).id)

    unknown = monitor("baseline", "accept", "--provider", "acme", "--run", "run_none", "--note", "x")
    other = monitor("baseline", "accept", "--provider", "acme", "--run", foreign, "--note", "x")

    assert (unknown.code, other.code) == (2, 2)
    assert "There is no run run_none." in unknown.err
    assert f"Run {foreign} is not one of acme's." in other.err


def test_reset_closes_and_the_next_run_enrols(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    enrol(store, endpoint)
    enrol(store, endpoint, ProbeKind.ACCOUNTING)

    ran = monitor("baseline", "reset", "--provider", "acme", "--note", "start over")

    assert ran.code == 0
    assert ran.out.splitlines() == [
        "acme / smol (as acme/smol) accounting: v1 closed",
        "acme / smol (as acme/smol) logprobs: v1 closed",
    ]
    assert "The next saved run of `monitor probe --provider acme` enrols." in ran.err
    assert store.active_baseline(endpoint.id, ProbeKind.LOGPROBS) is None


def test_the_endpoint_in_use_is_meant(monitor: Monitor, store: Store, endpoint: EndpointRecord) -> None:
    enrol(store, endpoint)
    renamed = store.ensure_endpoint(identity(served_name="acme/smol-v2"), at=later(1))
    run_id = store.begin_run(start(renamed.id), at=later(1))
    store.finish_run(run_id, result(baseline=Enrol()), at=later(1))

    ran = monitor("baseline", "reset", "--provider", "acme", "--note", "x")

    assert ran.out == "acme / smol (as acme/smol-v2) logprobs: v1 closed\n"
    assert store.active_baseline(endpoint.id, ProbeKind.LOGPROBS) is not None


@pytest.mark.parametrize("command", ["accept", "reset"])
def test_of_several_models_one_must_be_named(
    monitor: Monitor, store: Store, endpoint: EndpointRecord, command: str
) -> None:
    enrol(store, endpoint)
    large = store.ensure_endpoint(identity(model="large"), at=AT)
    enrol(store, large)

    refused = monitor("baseline", command, "--provider", "acme", "--note", "x")
    done = monitor("baseline", command, "--provider", "acme", "--model", "large", "--note", "x")

    assert refused.code == 2
    assert "Provider 'acme' has several models: large, smol. Name one: --model." in refused.err.replace("\n", " ")
    assert (done.code, done.out.startswith("acme / large")) == (0, True)


@pytest.mark.parametrize("command", ["accept", "reset"])
@pytest.mark.parametrize("note", [(), ("--note", " ")])
def test_a_note_is_needed(
    monitor: Monitor, store: Store, endpoint: EndpointRecord, command: str, note: tuple[str, ...]
) -> None:
    enrol(store, endpoint)

    ran = monitor("baseline", command, "--provider", "acme", *note)

    assert ran.code == 2
    assert "note" in ran.err
    assert len(store.baselines(endpoint.id)) == 1
    assert store.active_baseline(endpoint.id, ProbeKind.LOGPROBS) is not None


@pytest.mark.parametrize("command", ["accept", "reset"])
def test_a_provider_never_probed_is_named(monitor: Monitor, folder: Path, data_dir: Path, command: str) -> None:
    (folder / "providers.yaml").write_text(
        "version: 1\nmodels: { m: {} }\n"
        "providers: [ { slug: acme, base_url: 'https://api.acme.test/v1', models: [ { model: m, name: m } ] } ]\n"
    )

    known = monitor("baseline", command, "--provider", "acme", "--note", "x")
    unknown = monitor("baseline", command, "--provider", "acne", "--note", "x")

    assert (known.code, unknown.code) == (2, 2)
    assert "No run of acme is saved yet." in known.err
    assert "did you mean 'acme'?" in unknown.err
    assert not data_dir.exists()
