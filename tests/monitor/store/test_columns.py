from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import text

from monitor.errors import StorageError
from monitor.store import EndpointRecord, MetricPoint, Store
from monitor.store.database import Database
from monitor.store.session import Sessions
from tests.monitor.store.material import AT, evidence, finished_run, identity, result, start
from tests.servers import SQLITE


def test_a_naive_time_is_refused(store: Store) -> None:
    with pytest.raises(StorageError, match="2026-11-29T12:00:00 has no time zone"):
        store.ensure_endpoint(identity(), at=AT.replace(tzinfo=None))

    assert store.endpoints() == []


def test_a_time_of_another_zone_comes_back_as_the_same_moment_in_utc(store: Store, endpoint: EndpointRecord) -> None:
    east = datetime(2026, 11, 29, 14, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))

    started_at = store.run(finished_run(store, endpoint.id, east)).started_at

    assert started_at == east
    assert started_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_is_refused_and_nothing_is_stored(
    store: Store, endpoint: EndpointRecord, number: float
) -> None:
    run_id = store.begin_run(start(endpoint.id), at=AT)

    with pytest.raises(StorageError, match="cannot be stored"):
        store.finish_run(run_id, replace(result(), metric_points=[MetricPoint("ttft", number, 1)]), at=AT)
    with pytest.raises(StorageError, match="stored as JSON: Out of range float values are not JSON compliant"):
        store.finish_run(run_id, replace(result(), evidence=[replace(evidence(), detail={"q": number})]), at=AT)

    assert store.observations(run_id).observations == ()


def test_a_value_that_is_no_json_is_refused(store: Store, endpoint: EndpointRecord) -> None:
    with pytest.raises(StorageError, match="type frozenset is not JSON serializable"):
        store.save_capabilities(endpoint.id, {"unsupported": frozenset({"seed"})})


@SQLITE
def test_a_word_outside_the_vocabulary_is_refused_by_the_database(path: Path, store: Store) -> None:
    store.ensure_endpoint(identity(), at=AT)
    finished_run(store, store.endpoints()[0].id)
    sessions = Sessions(Database.named(path))

    with pytest.raises(StorageError, match="CHECK constraint failed: ck_run_status"), sessions.write() as session:
        session.execute(text("UPDATE run SET status = 'lost'"))
    sessions.close()
