"""Charts and comparisons as the API gives them."""

from __future__ import annotations

from dataclasses import replace

from monitor.store import EndpointRecord, MetricPoint
from tests.monitor.api.served import Api, assert_problem
from tests.monitor.store.material import AT, finished_run, identity, later, result

SPAN = "from=2026-11-29T00:00:00Z&to=2026-11-30T00:00:00Z"


def add_runs(api: Api, endpoint: EndpointRecord, values: list[float]) -> None:
    for number, value in enumerate(values):
        points = [MetricPoint("logprobs.shift", value, 4)]
        finished_run(api.store, endpoint.id, later(number), outcome=replace(result(), metric_points=points))


def test_a_series_says_its_step_and_each_point_its_samples_and_interval(api: Api, endpoint: EndpointRecord) -> None:
    finished_run(api.store, endpoint.id)
    client = api.anonymous
    assert client.get(f"/api/v1/endpoints/{endpoint.id}/metrics").json() == ["logprobs.shift"]

    address = f"/api/v1/metrics/series?endpoint={endpoint.id}&metric=logprobs.shift&{SPAN}"
    found = client.get(address).json()
    assert (found["step"], found["coarsened"], found["from"]) == ("raw", False, "2026-11-29T00:00:00Z")
    (point,) = found["points"]
    assert (point["at"], point["value"], point["n"]) == ("2026-11-29T12:00:00Z", 0.012, 3)
    assert point["interval"] == {"low": 0.001, "high": 0.023, "level": 0.95}

    day = client.get(address + "&step=day").json()
    assert (day["step_seconds"], day["points"][0]["interval"]) == (86400.0, None)


def test_a_series_of_quantiles_says_so(api: Api, endpoint: EndpointRecord) -> None:
    add_runs(api, endpoint, [1.0, 2.0, 9.0])
    address = f"/api/v1/metrics/series?endpoint={endpoint.id}&metric=logprobs.shift&{SPAN}&step=hour"

    found = api.anonymous.get(address + "&agg=p50").json()

    assert (found["agg"], found["points"][0]["value"], found["points"][0]["interval"]) == ("p50", 2.0, None)
    assert api.anonymous.get(address).json()["points"][0]["value"] == 4.0
    assert_problem(api.anonymous.get(address + "&agg=p42"), 422, "request_invalid")


def test_endpoints_are_compared_with_the_first_one(api: Api) -> None:
    first = api.store.ensure_endpoint(identity("one"), at=AT)
    second = api.store.ensure_endpoint(identity("two"), at=AT)
    third = api.store.ensure_endpoint(identity("three"), at=AT)
    add_runs(api, first, [1.0, 1.2, 0.8])
    add_runs(api, second, [3.0, 3.2, 2.8])

    ids = ",".join(endpoint.id for endpoint in (first, second, third))
    found = api.anonymous.get(f"/api/v1/compare?endpoints={ids}&metric=logprobs.shift&{SPAN}").json()["items"]

    assert [each["provider"] for each in found] == ["two", "one", "three"]
    two, one, three = found
    assert abs(two["difference"] - 2.0) < 1e-9
    assert 1.0 < two["difference_interval"]["low"] < 2.0 < two["difference_interval"]["high"] < 3.0
    assert (one["difference"], one["difference_interval"]) == (0.0, None)
    assert (three["value"], three["difference"], three["points"]) == (None, None, 0)


def test_a_span_that_ends_before_it_begins(api: Api, endpoint: EndpointRecord) -> None:
    span = "from=2026-11-30T00:00:00Z&to=2026-11-29T00:00:00Z"
    address = f"/api/v1/metrics/series?endpoint={endpoint.id}&metric=x&"
    assert_problem(api.anonymous.get(address + span), 422, "request_invalid")
    assert_problem(api.anonymous.get(address + "to=0001-01-02T00:00:00Z"), 422, "request_invalid")
