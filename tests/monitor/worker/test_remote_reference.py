"""A worker's check whose reference is another endpoint: its provider's rate and day are its own."""

from __future__ import annotations

from typing import Any

import pytest

from monitor import clock
from monitor.drift.rule import Verdict
from monitor.store import EvidenceRecord, RunStatus, limits
from monitor.worker.execute import execute
from tests.endpoints.scripted_model import NOISE, ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.monitor.store.material import spent
from tests.reliability.service import N, Service

PRICES = {"input_usd_per_mtok": 100.0, "output_usd_per_mtok": 100.0}


def configured(service: Service, x: ScriptedServer, vendor: ScriptedServer, **of_vendor: Any) -> str:
    """The id of the endpoint; the reference is on no schedule of its own."""
    served = {slug: {"model": "lark", "name": "lark", "prices": dict(PRICES)} for slug in ("x", "vendor")}
    providers = [
        {"slug": "x", "base_url": x.base_url, "allow_private": True, "models": [served["x"]]},
        {
            "slug": "vendor",
            "enabled": False,
            "base_url": vendor.base_url,
            "allow_private": True,
            "models": [served["vendor"]],
            **of_vendor,
        },
    ]
    models = {"lark": {"reference": {"endpoint": "vendor/lark"}}}
    return service.configure(x.base_url, models=models, providers=providers)


def fidelity(service: Service, check_id: str) -> EvidenceRecord:
    (run,) = [
        part.run for check in service.store.history(provider="x") for part in check.runs if check.check_id == check_id
    ]
    (found,) = [one for one in service.store.evidence(run.id) if one.metric == "fidelity"]
    return found


@pytest.mark.parametrize("rpm", [None, 100_000])
def test_the_reference_is_asked_and_its_cost_counts_to_its_own_day(service: Service, rpm: int | None) -> None:
    limited = {"daily_budget_usd": 5.0, "limits": {"rpm": rpm}}
    with ScriptedServer(ScriptedModel(noise=NOISE)) as x, ScriptedServer(ScriptedModel(noise=NOISE)) as vendor:
        (check_id,) = service.enqueue(configured(service, x, vendor, **limited), "one", ring=False)
        with service.context() as context:
            execute(context, check_id)

        assert [len(server.received) for server in (x, vendor)] == [N, N]

    assert service.entry(check_id).status is RunStatus.SUCCEEDED
    assert fidelity(service, check_id).verdict is Verdict.OK
    days = {slug: spent(service.store, slug, clock.now().date()) for slug in ("x", "vendor")}
    assert days["x"] == days["vendor"]
    assert days["vendor"][0] > 0
    assert days["vendor"][1] == 0


def test_a_reference_whose_day_is_spent_is_not_asked_and_nobody_is_blamed(service: Service) -> None:
    with ScriptedServer(ScriptedModel()) as x, ScriptedServer(ScriptedModel()) as vendor:
        endpoint_id = configured(service, x, vendor, daily_budget_usd=1.0)
        with service.store.sessions.write() as session:
            limits.spend(session, "vendor", clock.now().date(), 1_000_000)
        (check_id,) = service.enqueue(endpoint_id, "one", ring=False)
        with service.context() as context:
            execute(context, check_id)

        assert (len(x.received), vendor.received) == (N, [])

    assert service.entry(check_id).status is RunStatus.SUCCEEDED
    assert service.entry(check_id).enrolled
    found = fidelity(service, check_id)
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, "vendor/lark, the reference, gave no answer")
    assert spent(service.store, "vendor", clock.now().date()) == (1_000_000, 0)


def test_of_what_is_left_of_its_day_it_spends_no_more(service: Service) -> None:
    with ScriptedServer(ScriptedModel()) as x, ScriptedServer(ScriptedModel()) as vendor:
        endpoint_id = configured(service, x, vendor, daily_budget_usd=1.0, limits={"max_concurrency": 1})
        with service.store.sessions.write() as session:
            limits.spend(session, "vendor", clock.now().date(), 980_000)
        (check_id,) = service.enqueue(endpoint_id, "one", ring=False)
        with service.context() as context:
            execute(context, check_id)

        assert 0 < len(vendor.received) < N == len(x.received)

    assert service.entry(check_id).status is RunStatus.SUCCEEDED
    settled, _ = spent(service.store, "vendor", clock.now().date())
    # By one call more than there was, at most.
    assert 1_000_000 <= settled < 1_020_000


def test_what_is_drawn_of_a_day_is_never_more_than_is_left(service: Service) -> None:
    with service.store.sessions.write() as session:
        limits.spend(session, "vendor", clock.now().date(), 900)

        drawn = [limits.draw(session, "vendor", clock.now().date(), 60, 1_000) for _ in range(3)]
        limits.spend(session, "vendor", clock.now().date(), -30)
        again = limits.draw(session, "vendor", clock.now().date(), 60, 1_000)

    assert (drawn, again) == ([60, 40, 0], 30)
    assert spent(service.store, "vendor", clock.now().date()) == (1_000, 0)
