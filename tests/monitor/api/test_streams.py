"""Streams as the API gives them: how they stand, the path of E, epochs and their evidence."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.drift.evidence import Combining, Factors, Null
from monitor.store import EndpointRecord
from monitor.store.streams import Streams
from tests.monitor.api.served import Api, assert_problem
from tests.monitor.store.material import AT, finished_run, identity, later
from tests.monitor.store.streamed import exact, fed, fed_each, hourly, key, levelled, plan, said

UNKNOWN = "ep_00000000000000000000000000"
ROUTES = ("streams", "streams/path", "epochs", "epochs/0/evidence")


def at(endpoint: EndpointRecord, route: str) -> str:
    return f"/api/v1/endpoints/{endpoint.id}/{route}"


def test_the_document_is_that_of_the_command(api: Api, endpoint: EndpointRecord) -> None:
    watched = levelled(api.store, endpoint)
    hourly(api.store, endpoint, watched, [0.1] * 6 + [1.0] * 12)

    found = api.anonymous.get(at(endpoint, "streams")).json()

    assert (found["endpoint_id"], found["verdict"], found["level"]) == (endpoint.id, "drift", "drift")
    assert found["worth"] >= 1000
    assert found["onset"]["first"] == "2026-11-29T18:00:01Z"
    assert found["promise"]["alpha"] == 0.001
    (stream,) = found["streams"]
    assert (stream["tier"], stream["rounds"], stream["levels"]["days"]) == ("T1", 18, 14)


def test_without_an_epoch_it_says_what_opens_one(api: Api, endpoint: EndpointRecord) -> None:
    found = api.anonymous.get(at(endpoint, "streams")).json()
    assert (found["epoch"], found["worth"], found["streams"]) == (None, None, [])
    assert found["coming"][0].startswith("No epoch is open.")
    for route in ("streams/path", "epochs"):
        assert api.anonymous.get(at(endpoint, route)).json()["items"] == []


def test_lists_are_whole_page_by_page(each_api: Api) -> None:
    endpoint = each_api.store.ensure_endpoint(identity(), at=AT)
    watched, streams = key(endpoint), Streams(each_api.store.sessions)
    streams.open(endpoint.id, plan([watched]), at=AT)
    fed_each(each_api.store, endpoint, watched, [0.03] * 5)
    for minutes in (10, 20):
        streams.expire(endpoint.id, at=later(minutes))
    fed(each_api.store, endpoint, said(watched, exact(0.5), 30), minutes=30)

    def whole(route: str, name: str) -> list[Any]:
        client, following, seen = each_api.anonymous, at(endpoint, route), []
        while following:
            answer = client.get(following)
            assert answer.status_code == 200, answer.text
            seen += [item[name] for item in answer.json()["items"]]
            following = answer.links.get("next", {}).get("url", "")
        return seen

    assert whole("streams/path?limit=2", "epoch") == [2, 0, 0, 0, 0, 0]
    assert whole("streams/path?limit=2&sort=at", "epoch") == [0, 0, 0, 0, 0, 2]
    assert whole("streams/path?epoch=0&limit=3", "id") == whole("streams/path", "id")[1:]
    assert len(whole("streams/path?from=2026-11-29T12:01:00Z&to=2026-11-29T12:03:00Z", "at")) == 2
    assert whole("epochs?limit=1", "number") == [2, 1, 0]
    assert whole("epochs?limit=2", "why") == [None, "expired", "expired"]
    assert whole("epochs/0/evidence?limit=2", "sequence") == [5, 4, 3, 2, 1]
    assert whole("epochs/1/evidence", "sequence") == []
    assert whole("epochs/2/evidence?tier=T4&probe_set=draws-1", "sequence") == [6]
    assert whole("epochs/2/evidence?tier=T1", "sequence") == []


def test_evidence_says_what_it_is(api: Api, endpoint: EndpointRecord) -> None:
    watched = key(endpoint)
    Streams(api.store.sessions).open(endpoint.id, plan([watched]), at=AT)
    infinite = Factors((float("inf"), 0.5), Null.REFERENCE, Combining.MULTIPLY)
    added = fed(api.store, endpoint, said(watched, infinite))

    (item,) = api.anonymous.get(at(endpoint, "epochs/0/evidence")).json()["items"]

    nothing = dict.fromkeys(("scores", "p", "reason"))
    assert item["says"] == {
        "kind": "factors", "factors": ["inf", 0.5], "null": "reference", "combining": "multiply", **nothing
    }  # fmt: skip
    assert (item["n"], item["tokens"], item["reasons"]) == (8, 200, ["a reason"])
    assert item["value"] == added.streams.streams[watched].value
    assert item["at"].startswith("2026-11-29T12:00:00.1234")


@pytest.mark.parametrize("route", ROUTES)
def test_only_who_may_read_sees_them(api: Api, endpoint: EndpointRecord, route: str) -> None:
    Streams(api.store.sessions).open(endpoint.id, plan([key(endpoint)]), at=AT)
    api.add_user()
    assert_problem(api.anonymous.get(at(endpoint, route)), 401, "unauthorized")
    assert api.as_("read").get(at(endpoint, route)).status_code == 200


@pytest.mark.parametrize("route", ROUTES)
def test_what_is_not_there_is_not_found(api: Api, endpoint: EndpointRecord, route: str) -> None:
    assert_problem(api.anonymous.get(f"/api/v1/endpoints/{UNKNOWN}/{route}"), 404, "not_found")
    if route.endswith("evidence"):
        assert_problem(api.anonymous.get(at(endpoint, route)), 404, "not_found")
        Streams(api.store.sessions).open(endpoint.id, plan([key(endpoint)]), at=AT)
        assert_problem(api.anonymous.get(at(endpoint, "epochs/1/evidence")), 404, "not_found")


def test_accepting_everything_takes_the_streams_along(api: Api, endpoint: EndpointRecord) -> None:
    finished_run(api.store, endpoint.id)
    watched = levelled(api.store, endpoint)
    hourly(api.store, endpoint, watched, [0.1] * 6 + [1.0] * 12)
    client = api.as_("runs:write", "read")

    one = client.post(at(endpoint, "baseline:accept"), json={"note": "only it", "probe": "logprobs"})
    assert (one.status_code, len(client.get(at(endpoint, "epochs")).json()["items"])) == (200, 1)
    every = client.post(at(endpoint, "baseline:accept"), json={"note": "as announced"})

    assert [baseline["probe"] for baseline in every.json()] == ["logprobs"]
    opened, closed = client.get(at(endpoint, "epochs")).json()["items"]
    assert (closed["why"], closed["note"], opened["closed_at"]) == ("accepted", "as announced", None)
