"""The numbers of a database that holds something, in the text that Prometheus reads."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import insert

from monitor.drift.rule import Verdict
from monitor.service.metrics import exposition
from monitor.store import CheckRequest, Queue, RunStatus, Store, Trigger, limits
from monitor.store.figures import Standing
from monitor.store.tables import ChannelHealth, Delivery
from monitor.store.vocabulary import DeliveryStatus
from tests.monitor.store.material import AT, finished_run, identity, later, result

NAMES = {
    "monitor_check_value",
    "monitor_check_state",
    "monitor_alerts",
    "monitor_run_age_seconds",
    "monitor_queue_oldest_seconds",
    "monitor_worker_last_progress_seconds",
    "monitor_delivery_pending",
    "monitor_cost_usd",
    "monitor_db_bytes",
}
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(store: Store, minutes: float) -> Samples:
    text = exposition(Standing(store.sessions).figures(later(minutes)), later(minutes)).decode()
    families = list(text_string_to_metric_families(text))
    assert {family.name for family in families} == NAMES
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(found: Samples, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


def judged(store: Store, endpoint_id: str, key: str, minutes: float, verdict: Verdict = Verdict.OK) -> None:
    """A check that was made: queued at that minute and finished in the next."""
    queue = Queue(store.sessions)
    claimed = queue.enter_running(
        CheckRequest(key, endpoint_id, Trigger.CLI, later(minutes)), "host:1:", later(minutes)
    )
    finished_run(store, endpoint_id, later(minutes), check_id=claimed.entry.id, outcome=result(verdict=verdict))
    queue.finish(claimed.lease, status=RunStatus.SUCCEEDED, verdict=verdict, at=later(minutes + 1))


def test_an_empty_database_has_every_name_and_no_value(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        found = samples(store, 0)

    assert value(found, "monitor_delivery_pending") == 0
    assert value(found, "monitor_queue_oldest_seconds", queue="probe") == 0
    assert (value(found, "monitor_db_bytes") or 0) > 0
    assert value(found, "monitor_worker_last_progress_seconds") is None


def test_the_last_check_of_an_endpoint_is_told(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT).id
        judged(store, endpoint, "a", 0)
        judged(store, endpoint, "b", 5, Verdict.DRIFT)
        found = samples(store, 10)

    check = {"provider": "acme", "model": "smol", "check": "logprobs"}
    assert value(found, "monitor_check_value", **check) == pytest.approx(0.012)
    assert value(found, "monitor_check_state", **check, state="drift") == 1
    assert value(found, "monitor_check_state", **check, state="ok") == 0
    assert value(found, "monitor_run_age_seconds", provider="acme", model="smol") == 240


def test_what_waits_is_told_by_queue(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT).id
        Queue(store.sessions).enqueue([CheckRequest("a", endpoint, Trigger.API, AT)], AT)
        with store.sessions.write() as session:
            session.execute(insert(Delivery).values(**delivery("one", due_in=0)))
            session.execute(insert(Delivery).values(**delivery("two", due_in=60)))
            # Nobody can send it, however long it waits.
            session.execute(insert(Delivery).values({**delivery("off", due_in=-60), "channel": "off"}))
            session.execute(insert(ChannelHealth).values(channel="off", failures=1, disabled_at=AT))
        found = samples(store, 2)

    assert value(found, "monitor_queue_oldest_seconds", queue="probe") == 120
    assert value(found, "monitor_queue_oldest_seconds", queue="notify") == 120
    assert value(found, "monitor_delivery_pending") == 3


def delivery(name: str, *, due_in: float) -> dict[str, object]:
    return {
        "id": name,
        "channel": "ops",
        "type": "alert.firing",
        "group_key": name,
        "seq": 1,
        "alert_ids": [],
        "body": b"{}",
        "content_type": "application/json",
        "status": DeliveryStatus.PENDING,
        "attempts": 0,
        "next_attempt_at": later(due_in),
        "created_at": AT,
    }


def test_what_providers_cost_is_told_in_dollars(tmp_path: Path) -> None:
    with Store.open(tmp_path / "monitor.db", at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT).id
        (entry,) = Queue(store.sessions).enqueue([CheckRequest("a", endpoint, Trigger.API, AT)], AT)
        with store.sessions.write() as session:
            limits.reserve(session, entry.id, "acme", AT.date(), 900_000, None)
            limits.settle(session, entry.id, 250_000)
        found = samples(store, 0)

    assert value(found, "monitor_cost_usd_total", provider="acme") == 0.25


def test_a_clock_that_was_set_back_makes_no_negative_age(tmp_path: Path) -> None:
    with Store.open(tmp_path / "monitor.db", at=AT) as store:
        judged(store, store.ensure_endpoint(identity(), at=AT).id, "a", 0)
        text = exposition(Standing(store.sessions).figures(AT), AT - timedelta(hours=1)).decode()

    assert 'monitor_run_age_seconds{model="smol",provider="acme"} 0.0' in text
