"""Pages: nothing is skipped and nothing comes twice, whatever is added while one reads."""

from __future__ import annotations

from datetime import timedelta
from threading import Event, Thread

import pytest

from monitor.store import EndpointRecord
from monitor.store.entries import CheckRequest
from monitor.store.vocabulary import Trigger
from tests.monitor.api.served import Api, assert_problem
from tests.monitor.store.material import AT, finished_run, identity, later


def add_check(api: Api, endpoint: EndpointRecord, number: int) -> str:
    # Three at a time, so that the id has to decide.
    at = AT + timedelta(seconds=number // 3)
    (entry,) = api.state.queue.enqueue([CheckRequest(f"k{number}", endpoint.id, Trigger.API, at)], at)
    return entry.id


@pytest.mark.reliability
def test_r21_pages_under_concurrent_inserts_skip_and_double_nothing(each_api: Api) -> None:
    endpoint = each_api.store.ensure_endpoint(identity(), at=AT)
    before = [add_check(each_api, endpoint, number) for number in range(40)]
    stop = Event()

    def keep_adding() -> None:
        number = 1000
        while not stop.is_set():
            add_check(each_api, endpoint, number)
            number += 1

    writer = Thread(target=keep_adding)
    writer.start()
    try:
        seen = all_pages(each_api, "/api/v1/checks?limit=7&to=2026-11-29T12:00:30Z")
    finally:
        stop.set()
        writer.join()

    assert len(seen) == len(set(seen))
    assert set(seen) == set(before)
    assert seen == sorted(seen, key=lambda check: (before.index(check) // 3, check), reverse=True)


def all_pages(api: Api, url: str) -> list[str]:
    """Every id of a list, following the Link headers."""
    client = api.anonymous
    found: list[str] = []
    following: str | None = url
    while following is not None:
        response = client.get(following)
        assert response.status_code == 200, response.text
        document = response.json()
        found += [item.get("id") or item["slug"] for item in document["items"]]
        following = response.links.get("next", {}).get("url")
        assert (following is None) == (document["next_cursor"] is None)
    return found


@pytest.mark.parametrize("limit", [1, 2, 5, 500])
def test_every_list_of_runs_and_endpoints_is_whole_at_any_limit(api: Api, limit: int) -> None:
    endpoints = [api.store.ensure_endpoint(identity(f"p{number}"), at=AT) for number in range(4)]
    runs = [finished_run(api.store, endpoint.id, later(number)) for number, endpoint in enumerate(endpoints)]

    assert all_pages(api, f"/api/v1/runs?limit={limit}") == runs[::-1]
    assert set(all_pages(api, f"/api/v1/endpoints?limit={limit}")) == {endpoint.id for endpoint in endpoints}
    assert all_pages(api, f"/api/v1/runs?limit={limit}&provider=p2&model=smol") == [runs[2]]


def test_objects_of_the_configuration_come_by_slug(api: Api) -> None:
    client = api.admin
    for slug in ("c", "a", "b"):
        client.post("/api/v1/models", json={"slug": slug, "body": {}})
    assert all_pages(api, "/api/v1/models?limit=1") == ["a", "b", "c"]


def test_a_cursor_is_good_for_its_own_list_only(api: Api, endpoint: EndpointRecord) -> None:
    for number in range(3):
        add_check(api, endpoint, number)
    client = api.anonymous
    cursor = client.get("/api/v1/checks?limit=1").json()["next_cursor"]

    assert client.get("/api/v1/checks", params={"limit": 2, "cursor": cursor}).status_code == 200
    elsewhere = client.get("/api/v1/checks", params={"cursor": cursor, "status": "queued"})
    assert_problem(elsewhere, 400, "request_malformed")
    assert_problem(client.get("/api/v1/runs", params={"cursor": cursor}), 400, "request_malformed")
    assert_problem(client.get("/api/v1/checks", params={"cursor": cursor[:-1]}), 400, "request_malformed")
