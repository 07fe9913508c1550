"""A POST that is sent again under its Idempotency-Key is answered again and done once."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor import clock
from monitor.store.idempotency import AT_WORK, KEPT, Idempotency, KeptAnswer, RequestKey
from monitor.store.keyset import Window
from tests.monitor.api.served import Api, assert_problem
from tests.monitor.store.material import AT, finished_run, identity

KEY = {"Idempotency-Key": "check-1"}


def test_a_repeated_request_makes_one_check(each_api: Api) -> None:
    endpoint = each_api.store.ensure_endpoint(identity(), at=AT)
    client = each_api.admin
    answers = [client.post("/api/v1/checks", json={"endpoint_id": endpoint.id}, headers=KEY) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [202, 202, 202]
    assert len({answer.text for answer in answers}) == 1
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == [None, "true", "true"]
    assert len(client.get("/api/v1/checks").json()["items"]) == 1


def test_at_the_same_time_one_does_it_and_the_others_are_told_to_wait(each_api: Api) -> None:
    endpoint = each_api.store.ensure_endpoint(identity(), at=AT)
    client = each_api.admin

    def post(_: int) -> int:
        return client.post("/api/v1/checks", json={"endpoint_id": endpoint.id}, headers=KEY).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(post, range(16)))
    assert set(statuses) <= {202, 409}
    assert len(client.get("/api/v1/checks").json()["items"]) == 1


def test_keys_of_two_senders_are_two_requests(api: Api) -> None:
    endpoint = api.store.ensure_endpoint(identity(), at=AT)
    for client in (api.admin, api.admin):
        client.post("/api/v1/checks", json={"endpoint_id": endpoint.id}, headers=KEY)
    assert len(api.anonymous.get("/api/v1/checks").json()["items"]) == 2


def test_a_request_that_failed_may_be_tried_again_under_its_key(api: Api) -> None:
    client = api.admin
    assert_problem(client.post("/api/v1/checks", json={"provider": "acme"}, headers=KEY), 404, "not_found")
    endpoint = api.store.ensure_endpoint(identity(), at=AT)
    assert client.post("/api/v1/checks", json={"endpoint_id": endpoint.id}, headers=KEY).status_code == 202


def test_while_the_first_is_being_answered_the_second_is_told_to_wait(api: Api) -> None:
    client = api.admin
    (token,) = api.state.access.tokens(Window(10)).items
    body = b'{"endpoint_id": "x"}'
    digest = hashlib.sha256(b"\n" + body).hexdigest()
    request = RequestKey("check-1", f"token:{token.id}", "/api/v1/checks")
    Idempotency(api.store.sessions).begin(request, digest, clock.now())

    headers = {**KEY, "content-type": "application/json"}
    answer = client.post("/api/v1/checks", content=body, headers=headers)
    assert_problem(answer, 409, "request_in_progress")
    assert answer.headers["retry-after"] == "1"


def test_an_answer_is_kept_for_a_day_and_one_that_never_came_for_minutes(api: Api) -> None:
    kept = Idempotency(api.store.sessions)
    request = RequestKey("k", "a", "/r")
    assert kept.begin(request, "s", AT).answer is None
    assert kept.begin(request, "s", AT + AT_WORK / 2).at_work
    assert not kept.begin(request, "s", AT + AT_WORK).at_work

    kept.keep(request, KeptAnswer(202, {"location": "/x"}, b"{}"), AT)
    again = kept.begin(request, "s", AT + KEPT - timedelta(seconds=1))
    assert again.answer == KeptAnswer(202, {"location": "/x"}, b"{}")
    assert kept.begin(request, "other", AT + timedelta(hours=1)).differs
    assert kept.prune(AT + KEPT) == 1


@contextmanager
def unwritable_audit_log(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TRIGGER full BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'full'); END")
        yield
        database.execute("DROP TRIGGER full")


def content(path: Path) -> set[str]:
    """All that is stored, but for what every request writes: when its token was used."""
    with closing(sqlite3.connect(path)) as database:
        return {line for line in database.iterdump() if '"api_token"' not in line and "TRIGGER" not in line}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/silences", {"matchers": {"provider": "acme"}, "ends_at": "2199-01-01T00:00:00Z", "comment": "x"}),
        ("/endpoints/{endpoint}/baseline:accept", {"note": "x"}),
        ("/endpoints/{endpoint}/baseline:reset", {"note": "x"}),
        ("/checks/{check}/cancel", None),
        ("/channels/ops/test", None),
        ("/deliveries/{delivery}/redeliver", None),
    ],
)
def test_a_request_that_failed_half_way_left_nothing_that_its_repeat_would_double(
    api: Api, tmp_path: Path, path: str, body: Any
) -> None:
    client, database = api.admin, tmp_path / "monitor.db"
    endpoint = api.store.ensure_endpoint(identity(), at=AT).id
    finished_run(api.store, endpoint)
    check = client.post("/api/v1/checks", json={"endpoint_id": endpoint}).json()["id"]
    channel = {"url": "http://127.0.0.1:9/in", "format": "slack", "allow_private": True}
    assert client.post("/api/v1/channels", json={"slug": "ops", "body": channel}).status_code == 201
    delivery = client.post("/api/v1/channels/ops/test").json()["id"]
    address = "/api/v1" + path.format(endpoint=endpoint, check=check, delivery=delivery)
    before = content(database)

    with unwritable_audit_log(database):
        assert_problem(client.post(address, json=body, headers=KEY), 503, "database_unavailable")
        assert content(database) == before
    assert client.post(address, json=body, headers=KEY).status_code < 300
    assert client.post(address, json=body, headers=KEY).headers["idempotency-replayed"] == "true"
