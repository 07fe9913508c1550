"""A test message goes the way of every message, and the API says how it ended."""

from __future__ import annotations

from typing import Any

import pytest

from monitor import clock
from monitor.deliveries.dispatch import Dispatch
from monitor.deliveries.routes import Routes
from monitor.deliveries.signature import mismatch
from tests.endpoints import hostile
from tests.endpoints.server import ScriptedServer
from tests.monitor.api.served import Api, assert_problem
from tests.monitor.deliveries.material import SECRET


@pytest.fixture
def client(api: Api, monkeypatch: pytest.MonkeyPatch) -> Any:
    """There is a channel `ops`, whose address HOOK names."""
    monkeypatch.setenv("HOOK", "http://127.0.0.1:9/in")
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    client = api.admin
    body = {"url": "${env:HOOK}", "secret": "${env:HOOK_SECRET}", "allow_private": True}
    assert client.post("/api/v1/channels", json={"slug": "ops", "body": body}).status_code == 201
    return client


def deliver(api: Api, delivery_id: str) -> None:
    """What the worker does that the bell wakes."""
    Dispatch(api.state.deliveries, Routes.of(api.state.config.config().file)).deliver(delivery_id, "w1", clock.now())


def test_it_is_signed_like_any_message_and_its_delivery_says_how_it_ended(
    api: Api, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer(hostile.always(204, "")) as server:
        monkeypatch.setenv("HOOK", server.base_url)
        answer = client.post("/api/v1/channels/ops/test")
        (rung,) = api.bell.calls
        deliver(api, rung[1])

    assert answer.status_code == 202
    assert rung == ("monitor.deliver", answer.json()["id"])
    (received,) = server.received
    assert received.json["type"] == "webhook.test"
    assert mismatch(received.headers, received.body, [SECRET], clock.now()) is None
    assert client.get(answer.headers["location"]).json()["status"] == "delivered"
    assert client.get("/api/v1/audit").json()["items"][0]["action"] == "channel.test"


def test_a_channel_that_is_away_fails_the_delivery_not_the_request(api: Api, client: Any) -> None:
    address = client.post("/api/v1/channels/ops/test").headers["location"]
    deliver(api, address.rpartition("/")[2])

    found = client.get(address).json()
    (attempt,) = client.get(address + "/attempts").json()
    assert (found["status"], found["attempts"], attempt["http_status"]) == ("pending", 1, None)
    assert attempt["error"]


def test_another_test_does_not_wait_behind_one_that_failed(api: Api, client: Any) -> None:
    first = client.post("/api/v1/channels/ops/test").json()["id"]
    deliver(api, first)
    second = client.post("/api/v1/channels/ops/test").json()["id"]

    assert client.get(f"/api/v1/deliveries/{first}").json()["status"] == "cancelled"
    assert api.state.deliveries.due(clock.now()) == [second]


def test_a_test_switches_a_channel_on_that_answered_410(api: Api, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(hostile.always(410, "")) as server:
        monkeypatch.setenv("HOOK", server.base_url)
        deliver(api, client.post("/api/v1/channels/ops/test").json()["id"])
    assert client.get("/api/v1/channel-health").json()[0]["disabled_at"] is not None

    again = client.post("/api/v1/channels/ops/test").json()["id"]

    assert client.get("/api/v1/channel-health").json()[0]["disabled_at"] is None
    assert api.state.deliveries.due(clock.now()) == [again]


def test_who_may_not_and_what_is_not_there(api: Api, client: Any) -> None:
    assert_problem(client.post("/api/v1/channels/op/test"), 404, "not_found")
    assert_problem(api.as_("read").post("/api/v1/channels/ops/test"), 403, "forbidden")
