from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.errors import StorageError
from monitor.store import EndpointRecord, RunStatus, Store
from monitor.store.config import ConfigObjects
from monitor.store.tables import Sample, SampleBody
from probes.completion import Completion, Timings, Usage
from probes.plan import Attempt, Outcome
from probes.quirks import Disposition, Quirk
from tests.monitor.store.material import AT, later, result, sample, start
from tests.servers import SQLITE


@pytest.fixture
def run_id(store: Store, endpoint: EndpointRecord) -> str:
    return store.begin_run(start(endpoint.id), at=AT)


@pytest.fixture
def session(store: Store) -> Iterator[Session]:
    with store.sessions.read() as session:
        yield session


def test_a_sample_holds_the_facts_of_its_answer(
    store: Store, endpoint: EndpointRecord, run_id: str, session: Session
) -> None:
    failed = Attempt(503, {}, b"busy", AT, 0.5, error="provider_unreachable", message="busy")
    answered = Attempt(200, {}, b'{"id":"cmpl-9"}', later(1), 0.25)
    completion = Completion(
        Disposition.NORMALISE,
        (Quirk.SSE_MISSING_DONE,),
        200,
        finish_reason="stop",
        usage=Usage(prompt_tokens=12, completion_tokens=1, cached_tokens=4),
        id="cmpl-9",
        timings=Timings(first_output=0.125),
    )

    store.add_samples(
        run_id, [replace(sample("a", 2), completion=completion, attempts=(failed, answered))], at=later(2)
    )

    row = session.scalars(select(Sample)).one()
    assert (row.run_id, row.endpoint_id, row.item_key, row.rep, row.anchor) == (run_id, endpoint.id, "a", 2, True)
    assert (row.created_at, row.sent_at) == (later(2), later(1))
    assert (row.outcome, row.attempts, row.first_attempt_ok) == (Outcome.OK, 2, False)
    assert (row.http_status, row.error_code, row.finish_reason) == (200, None, "stop")
    assert (row.tokens_in, row.tokens_out, row.tokens_cached) == (12, 1, 4)
    assert (row.ttft_ms, row.total_ms) == (125.0, 250.0)
    assert row.quirks == ["SSE_MISSING_DONE"]
    assert row.provider_request_id == "cmpl-9"
    assert row.response_sha256 == hashlib.sha256(b'{"id":"cmpl-9"}').hexdigest()


def test_a_sample_never_sent_is_stored_as_such(store: Store, run_id: str, session: Session) -> None:
    store.add_samples(run_id, [replace(sample("a", outcome=Outcome.SKIPPED), attempts=())], at=AT)

    row = session.scalars(select(Sample)).one()
    assert (row.outcome, row.attempts, row.sent_at, row.http_status) == (Outcome.SKIPPED, 0, None, None)


def test_what_no_endpoint_can_mean_is_left_out(store: Store, run_id: str, session: Session) -> None:
    completion = Completion(
        Disposition.FLAG,
        (),
        200,
        finish_reason="st\x1b[2Jop\udcff" + "x" * 500,
        id="\x00cmpl",
        usage=Usage(prompt_tokens=10**30, completion_tokens=-1),
    )

    store.add_samples(run_id, [replace(sample("a"), completion=completion)], at=AT)

    row = session.scalars(select(Sample)).one()
    assert row.finish_reason == ("st[2Jop" + "x" * 500)[:64]
    assert row.provider_request_id == "cmpl"
    assert (row.tokens_in, row.tokens_out) == (None, None)


def test_a_sample_sent_again_is_stored_once(store: Store, run_id: str) -> None:
    store.add_samples(run_id, [sample("a"), sample("b"), sample("a", body=b"again")], at=AT)
    store.add_samples(run_id, [sample("b", body=b"other"), sample("b", 1), sample("c")], at=later(1))

    stored = [(one.item_key, one.rep, one.answers[0].body) for one in store.exchanges(run_id)]

    answer = b'{"id":"cmpl-1"}'
    assert stored == [("a", 0, answer), ("b", 0, answer), ("b", 1, answer), ("c", 0, answer)]


def test_many_samples_go_in_at_once(store: Store, run_id: str) -> None:
    store.add_samples(run_id, [sample(f"{number}") for number in range(137)], at=AT)

    assert len(store.exchanges(run_id)) == 137


def test_of_a_private_sample_the_facts_are_kept_and_no_exchange(store: Store, run_id: str, session: Session) -> None:
    open_one, private = sample("open"), sample("private")
    store.add_samples(run_id, [open_one, replace(private, item=replace(private.item, private=True))], at=AT)

    assert [one.item_key for one in store.exchanges(run_id)] == ["open"]
    kept = {row.item_key: row.http_status for row in session.scalars(select(Sample))}
    assert kept["private"] == kept["open"] == 200


def test_a_finished_run_takes_no_more_samples(store: Store, run_id: str) -> None:
    store.finish_run(run_id, result(status=RunStatus.CANCELLED), at=AT)

    with pytest.raises(StorageError, match=f"Run {run_id} is not running but cancelled"):
        store.add_samples(run_id, [sample("a")], at=AT)


KEPT = timedelta(days=14)


def test_bodies_go_when_their_time_has_passed_and_samples_stay(store: Store, database_url: str, run_id: str) -> None:
    store.add_samples(run_id, [sample("a", body=b"\x00" * 10), sample("b")], at=AT)
    store.finish_run(run_id, result(), at=AT)

    Store.open(database_url, at=AT + 2 * KEPT).close()
    Store.open(database_url, at=AT + KEPT, keep_bodies=KEPT).close()
    assert len(store.exchanges(run_id)) == 2
    Store.open(database_url, at=AT + KEPT + timedelta(seconds=1), keep_bodies=KEPT).close()

    assert store.exchanges(run_id) == []
    with store.sessions.read() as session:
        assert session.scalar(select(func.count()).select_from(SampleBody)) == 0
        assert session.scalar(select(func.count()).select_from(Sample)) == 2
    assert len(store.observations(run_id).observations) == 3


@pytest.mark.parametrize(("retention", "days"), [({"retention": {"bodies": "2d"}}, 2), ({}, 14)])
def test_bodies_are_kept_as_long_as_the_stored_configuration_says(
    store: Store, database_url: str, run_id: str, tmp_path: Path, retention: dict[str, object], days: int
) -> None:
    file = tmp_path / "providers.yaml"
    file.write_text(json.dumps({"version": 1, "defaults": {"every": "5m"}, **retention}))
    ConfigObjects(store.sessions).apply(objects_of(load_config(file)), actor="test", at=AT)
    store.add_samples(run_id, [sample("a")], at=AT)
    store.finish_run(run_id, result(), at=AT)
    end = AT + timedelta(days=days)

    Store.open(database_url, at=end, keep_bodies=timedelta(hours=1)).close()
    assert len(store.exchanges(run_id)) == 1
    Store.open(database_url, at=end + timedelta(seconds=1)).close()

    assert store.exchanges(run_id) == []


@SQLITE
def test_space_of_deleted_bodies_goes_back(store: Store, path: Path, run_id: str) -> None:
    store.add_samples(run_id, [sample(f"{n}", body=os.urandom(10_000)) for n in range(20)], at=AT)
    pages = count(path, "page_count")

    Store.open(path, at=AT + 2 * KEPT, keep_bodies=KEPT).close()

    assert count(path, "freelist_count") == 0
    assert count(path, "page_count") < pages - 20


def count(path: Path, pragma: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (number,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(number)
