"""The OpenAPI document: checked in, up to date, complete, and pages without anything from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from monitor.api.__main__ import document_text
from monitor.api.app import described_api
from tests.monitor.api.served import Api

DOCS = Path(__file__).parents[3] / "docs"


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    paths = described_api().openapi()["paths"]
    return [(path, method, operation) for path, methods in paths.items() for method, operation in methods.items()]


def test_the_document_that_is_checked_in_is_the_one_that_is_served(api: Api) -> None:
    assert (DOCS / "openapi.json").read_text("utf-8") == document_text(), "run `make openapi`"
    assert api.anonymous.get("/openapi.json").json() == described_api().openapi()


def test_it_is_openapi_3_1_with_one_name_for_each_operation() -> None:
    assert described_api().openapi()["openapi"].startswith("3.1")
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))


def test_every_error_of_every_operation_is_a_problem() -> None:
    shared = described_api().openapi()["components"]["responses"]
    for path, method, operation in operations():
        errors = {status: answer for status, answer in operation["responses"].items() if not status.startswith("2")}
        assert {answer["$ref"].rpartition("/")[2] for answer in errors.values()} <= set(shared), (path, method)
    assert [name for name, answer in shared.items() if list(answer["content"]) != ["application/problem+json"]] == []


def test_every_list_has_pages() -> None:
    for path, method, operation in operations():
        answer = operation["responses"].get("200", {}).get("content", {}).get("application/json", {})
        name = str(answer.get("schema", {}).get("$ref", ""))
        if method == "get" and "PageOf" in name:
            parameters = {parameter["name"] for parameter in operation["parameters"]}
            assert {"limit", "cursor"} <= parameters, path


def test_every_route_is_described_in_the_documentation() -> None:
    text = (DOCS / "api.md").read_text("utf-8")
    described = {re.sub(r"\{\w+\}", "{}", path) for path in re.findall(r"`(/[a-z-]+[^` ?]*)", text)}
    served = {re.sub(r"\{\w+\}", "{}", path.removeprefix("/api/v1")) for path, _, _ in operations()}
    assert served - described == set()


def test_no_page_loads_anything_from_elsewhere(api: Api) -> None:
    for path in ("/api", "/api/errors"):
        page = api.anonymous.get(path)
        assert page.status_code == 200
        assert re.findall(r"(?:src|href)=\"(?:https?:)?//", page.text) == []
        assert "<script" not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
    for path in ("/docs", "/redoc"):
        assert api.anonymous.get(path).status_code == 404
