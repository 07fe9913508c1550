"""What the database knows of our own faults: a reference that cannot be used, a control that moved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.alerts.inhibit import Conditions, MovedControl
from monitor.alerts.rule import BUILT_IN
from monitor.alerts.signals import Verdicted
from monitor.check.identity import identity_of
from monitor.config import EndpointConfig, load_config
from monitor.drift.rule import Verdict
from monitor.store import Queue, RunStatus, Store, Trigger
from monitor.store.alerts import AlertFilter, Alerts
from monitor.store.conditions import conditions
from monitor.store.keyset import Window
from monitor.store.queue import LEASE
from probes.plan import ProbeKind
from tests.monitor.store.material import AT, later, result, start
from tests.monitor.store.queued import enqueued

Endpoints = Mapping[str, EndpointConfig]


@pytest.fixture
def endpoints(store: Store, tmp_path: Path) -> Endpoints:
    """`smol` has a reference and a control (the second endpoint); `wren` has neither."""
    url = {"base_url": "https://api.test/v1"}
    smol = {"model": "smol", "name": "smol"}
    document = {
        "version": 1,
        "models": {"smol": {"reference": {"weights": "bundled"}}, "wren": {}},
        "providers": [
            {"slug": "acme", **url, "models": [smol, {"model": "wren", "name": "wren"}]},
            {"slug": "ours", **url, "models": [{**smol, "control": True}]},
        ],
    }
    file = tmp_path / "providers.yaml"
    file.write_text(json.dumps(document))
    found = load_config(file).all_endpoints()
    return {store.ensure_endpoint(identity_of(endpoint), at=AT).id: endpoint for endpoint in found}


def id_of(endpoints: Endpoints, provider: str, model: str = "smol") -> str:
    return next(key for key, one in endpoints.items() if (one.provider, one.model) == (provider, model))


def found(store: Store, endpoints: Endpoints, minutes: float = 60) -> Conditions:
    with store.sessions.read() as session:
        return conditions(session, endpoints, later(minutes))


def ended(
    store: Store,
    endpoint_id: str,
    minutes: float,
    error: str | None = None,
    probe: ProbeKind = ProbeKind.LOGPROBS,
    **other: object,
) -> None:
    """A check that ended at that minute, with an error or with a run that was judged."""
    queue, at = Queue(store.sessions), later(minutes)
    check = enqueued(store, endpoint_id, f"{endpoint_id}-{minutes}", **other)
    claimed = queue.claim(check.id, "worker", at, max(LEASE, timedelta(hours=1)))
    assert claimed is not None
    if error is None:
        run_id = store.begin_run(start(endpoint_id, probe, check_id=check.id), at=at, lease=claimed.lease)
        store.finish_run(run_id, result(), at=at, lease=claimed.lease)
    status = RunStatus.SUCCEEDED if error is None else RunStatus.FAILED
    queue.finish(claimed.lease, status=status, error_code=error, at=at)


def test_nothing_is_wrong_where_nothing_was_found(store: Store, endpoints: Endpoints) -> None:
    assert found(store, endpoints) == Conditions()


def test_a_reference_that_the_last_check_could_not_use_is_unhealthy_until_one_can(
    store: Store, endpoints: Endpoints
) -> None:
    ended(store, id_of(endpoints, "acme"), 1)
    ended(store, id_of(endpoints, "ours"), 2, "reference_unavailable")
    assert found(store, endpoints).unhealthy_references == {"smol"}

    ended(store, id_of(endpoints, "acme"), 3, "provider_unreachable")
    ended(store, id_of(endpoints, "acme"), 4, probe=ProbeKind.LATENCY)
    assert found(store, endpoints).unhealthy_references == {"smol"}
    assert found(store, endpoints, minutes=25 * 60).unhealthy_references == frozenset()

    ended(store, id_of(endpoints, "acme"), 5)
    assert found(store, endpoints).unhealthy_references == frozenset()


def test_a_command_on_a_machine_without_weights_says_nothing_of_the_reference(
    store: Store, endpoints: Endpoints
) -> None:
    ended(store, id_of(endpoints, "acme"), 1, "model_file_invalid", trigger=Trigger.CLI, schedule=None)
    ended(store, id_of(endpoints, "acme", "wren"), 2, "reference_unavailable")

    assert found(store, endpoints).unhealthy_references == frozenset()


def test_a_control_that_drifted_has_moved_until_its_alert_is_over(store: Store, endpoints: Endpoints) -> None:
    alerts, control = Alerts(store.sessions), id_of(endpoints, "ours")
    labels = endpoints[control].matching_labels

    def see(endpoint_id: str, minutes: float, verdict: Verdict) -> None:
        signal = Verdicted(f"chk_{minutes}", later(minutes), "logprobs", verdict, fresh=True)
        alerts.apply(endpoint_id, labels, [signal], BUILT_IN, at=later(minutes))

    see(id_of(endpoints, "acme"), 10, Verdict.DRIFT)
    see(control, 10, Verdict.SUSPECT)
    assert found(store, endpoints).moved_controls == ()

    see(control, 20, Verdict.DRIFT)
    assert found(store, endpoints).moved_controls == (MovedControl(control, "smol", None, later(10)),)

    (alert,) = alerts.list(Window(10), AlertFilter(endpoint_id=control)).items
    alerts.resolve(alert.id, actor="ada", at=later(30))
    assert found(store, endpoints).moved_controls == ()
