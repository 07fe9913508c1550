"""Every error path, one form: a problem document, the request's id, and no value repeated."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from monitor.errors import ConfigError, RequestError, StorageError
from monitor.store import EndpointRecord, Store
from monitor.store.ids import new_id
from reference_engine.errors import CodedError
from tests.monitor.api.served import NOW, Api, api_over, assert_problem
from tests.monitor.store.material import AT
from tests.servers.postgres import Postgres

CANARY = "canary-value-7f3a"  # pragma: allowlist secret


def test_an_unknown_address(api: Api) -> None:
    assert_problem(api.anonymous.get("/api/v1/nothing"), 404, "not_found")
    assert_problem(api.anonymous.get("/nothing"), 404, "not_found")


@pytest.mark.parametrize(
    "path", ["endpoints/ep_", "checks/chk_", "runs/run_", "alerts/alr_", "silences/sil_", "deliveries/msg_"]
)
def test_an_unknown_object(api: Api, path: str) -> None:
    missing = new_id("ep", NOW).removeprefix("ep_")
    assert_problem(api.anonymous.get(f"/api/v1/{path}{missing}"), 404, "not_found")


def test_a_method_that_the_address_does_not_take(api: Api) -> None:
    response = api.admin.put("/api/v1/checks")
    assert_problem(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "GET, POST"


def test_a_body_that_is_not_json(api: Api) -> None:
    client = api.admin
    response = client.post("/api/v1/checks", content=b"{no", headers={"content-type": "application/json"})
    assert_problem(response, 400, "request_malformed")


def test_a_body_with_wrong_values_names_each_place_and_no_value(api: Api) -> None:
    wanted = {"endpoint_id": CANARY, "n": 0, "probes": ["nothing"], "extra": 1}
    problem = assert_problem(api.admin.post("/api/v1/checks", json=wanted), 422, "request_invalid")
    pointers = {error["pointer"] for error in problem["errors"]}
    assert pointers == {"/body/endpoint_id", "/body/n", "/body/probes/0", "/body/extra"}
    assert CANARY not in str(problem)


def test_of_log_probabilities_four_requests_are_the_fewest(api: Api) -> None:
    wanted = {"provider": "acme", "n": 3, "probes": ["border", "logprobs"]}
    problem = assert_problem(api.admin.post("/api/v1/checks", json=wanted), 422, "request_invalid")
    assert "needs n of 4 at least for logprobs and accounting" in str(problem)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "/query/limit"),
        ("limit=501", "/query/limit"),
        ("from=yesterday", "/query/from"),
        ("from=2026-11-29T12:00:00", "/query/from"),
        ("from=0001-01-01T00:00:00%2B14:00", "/query/from"),
        ("status=unheard", "/query/status"),
        ("endpoint=ep_%00", "/query/endpoint"),
    ],
)
def test_a_query_with_a_wrong_value(api: Api, query: str, pointer: str) -> None:
    problem = assert_problem(api.anonymous.get(f"/api/v1/runs?{query}"), 422, "request_invalid")
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


def test_a_cursor_that_nobody_gave(api: Api) -> None:
    assert_problem(api.anonymous.get("/api/v1/runs?cursor=abc"), 400, "request_malformed")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_address_that_no_database_takes(each_api: Api, method: str) -> None:
    response = each_api.admin.request(method, "/api/v1/alerts/%00", headers={"Idempotency-Key": "1"})
    assert_problem(response, 404, "not_found")


def test_no_token_where_one_is_needed(api: Api) -> None:
    response = api.anonymous.get("/api/v1/tokens")
    assert_problem(response, 401, "unauthorized")
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_token_without_the_scope(api: Api) -> None:
    assert_problem(api.as_("read").post("/api/v1/checks", json={"provider": "x"}), 403, "forbidden")


def test_a_wrong_token_is_not_repeated_and_soon_refused_unheard(api: Api) -> None:
    client = api.anonymous
    client.headers["Authorization"] = f"Bearer {CANARY}"
    answers = [client.get("/api/v1/runs") for _ in range(11)]
    assert_problem(answers[0], 401, "unauthorized")
    assert_problem(answers[-1], 429, "too_many_attempts")
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert all(CANARY not in answer.text for answer in answers)


def test_another_host_while_there_is_no_user(api: Api) -> None:
    response = api.anonymous.get("/api/v1/runs", headers={"Host": "rebound.example"})
    assert_problem(response, 421, "host_forbidden")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large(api: Api, chunked: bool) -> None:
    body = b'"' + b"x" * 1_100_000 + b'"'
    content = iter([body[:600_000], body[600_000:]]) if chunked else body
    response = api.admin.post("/api/v1/checks", content=content, headers={"content-type": "application/json"})
    assert_problem(response, 413, "request_too_large")


def test_a_change_without_if_match_and_with_an_old_one(api: Api) -> None:
    client = api.admin
    made = client.post("/api/v1/models", json={"slug": "smol", "body": {}})
    assert made.status_code == 201, made.text
    patch = {"body": {"hf": "org/smol"}}

    assert_problem(client.patch("/api/v1/models/smol", json=patch), 428, "precondition_required")
    assert_problem(client.delete("/api/v1/models/smol"), 428, "precondition_required")
    old = {"If-Match": '"7"'}
    assert_problem(client.patch("/api/v1/models/smol", json=patch, headers=old), 412, "precondition_failed")
    assert_problem(client.delete("/api/v1/models/smol", headers={"If-Match": "x"}), 412, "precondition_failed")


def test_a_configuration_that_would_not_be_valid(api: Api) -> None:
    new = {"slug": "acme", "body": {"base_url": "not a url", "models": []}}
    problem = assert_problem(api.admin.post("/api/v1/providers", json=new), 422, "config_invalid")
    assert problem["errors"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("channels", {"url": "${env:HOOK}", "events": [CANARY]}),
        ("channels", {"url": "${env:HOOK}", "format": CANARY}),
        ("routes", {"to": [CANARY]}),
        ("routes", {"to": [CANARY, CANARY]}),
        ("models", {"reference": {"weights": "bundled", "allowed_profiles": [CANARY]}}),
        ("providers", {"base_url": "https://acme.test", "api": CANARY, "models": [{"model": CANARY, "name": "m"}]}),
    ],
)
def test_no_finding_about_the_configuration_repeats_a_value(api: Api, path: str, body: dict[str, object]) -> None:
    problem = assert_problem(
        api.admin.post(f"/api/v1/{path}", json={"slug": "new", "body": body}), 422, "config_invalid"
    )
    assert problem["errors"]
    assert CANARY not in str(problem)


def test_a_check_that_has_ended_cannot_be_cancelled(api: Api, endpoint: EndpointRecord) -> None:
    client = api.admin
    check = client.post("/api/v1/checks", json={"endpoint_id": endpoint.id}).json()
    assert client.post(f"/api/v1/checks/{check['id']}/cancel").status_code == 200
    assert_problem(client.post(f"/api/v1/checks/{check['id']}/cancel"), 409, "conflict")


def test_an_idempotency_key_that_was_used_otherwise(api: Api, endpoint: EndpointRecord) -> None:
    client = api.admin
    key = {"Idempotency-Key": "one"}
    client.post("/api/v1/checks", json={"endpoint_id": endpoint.id}, headers=key)
    other = client.post("/api/v1/checks", json={"endpoint_id": endpoint.id, "n": 8}, headers=key)
    assert_problem(other, 422, "idempotency_key_reused")


def test_a_database_that_is_gone(own_postgres: Postgres) -> None:
    with Store.open(own_postgres.create_database("gone"), at=AT) as store:
        api = api_over(store)
        client = api.admin
        assert client.get("/api/v1/runs").status_code == 200
        own_postgres.stop()
        response = client.get("/api/v1/runs")
        assert_problem(response, 503, "database_unavailable")
        assert response.headers["retry-after"] == "5"


def test_a_failure_of_the_service_itself_tells_nothing_but_its_id(
    api: Api, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    add_failing_route(api.app, ValueError(f"could not read {CANARY}"))
    problem = assert_problem(api.anonymous.get("/fails"), 500, "internal_error")
    assert CANARY not in str(problem)
    assert problem["request_id"] in caplog.text
    assert "ValueError" in caplog.text
    assert CANARY not in caplog.text + "".join(capsys.readouterr())


def test_an_error_of_ours_keeps_its_own_status(api: Api) -> None:
    add_failing_route(api.app, StorageError("The disk is full.", remedy="Free some space."))
    problem = assert_problem(api.anonymous.get("/fails"), 503, "database_unavailable")
    assert problem["detail"] == "The disk is full. Free some space."


def add_failing_route(app: FastAPI, error: Exception) -> None:
    @app.get("/fails")
    def fails() -> None:
        raise error


@pytest.mark.parametrize(("given", "kept"), [("abc-1", True), ("bad id", False), ("x" * 129, False)])
def test_a_request_id_that_is_given_is_kept(api: Api, given: str, kept: bool) -> None:
    answered = api.anonymous.get("/api/v1/runs", headers={"X-Request-Id": given}).headers["x-request-id"]
    assert (answered == given) is kept
    assert kept or answered.startswith("req_")


def test_every_code_is_explained_where_its_type_points(api: Api) -> None:
    page = api.anonymous.get("/api/errors").text
    kinds: list[type[CodedError]] = [*RequestError.__subclasses__(), RequestError, StorageError, ConfigError]
    codes = {error.code for error in kinds}
    assert [code for code in codes if f'id="{code}"' not in page] == []
