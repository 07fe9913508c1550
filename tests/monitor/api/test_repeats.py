"""A POST that is sent again under its Idempotency-Key is answered again and done once."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from monitor import clock
from monitor.store.idempotency import AT_WORK, KEPT, Idempotency, KeptAnswer, RequestKey
from monitor.store.keyset import Window
from tests.monitor.api.served import Api, assert_problem
from tests.monitor.store.material import AT, identity

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
