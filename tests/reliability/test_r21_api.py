"""R21: whatever is sent to the API, it answers what its own OpenAPI document says, and never with a failure of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from monitor.access.scope import Scope
from monitor.api.app import described_api
from monitor.store import Store
from tests.monitor.api.served import Api, api_over
from tests.monitor.store.material import AT, finished_run, identity, sample, start

pytestmark = pytest.mark.reliability

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
EXAMPLES = 8

OPERATIONS = [(path, method) for path, methods in described_api().openapi()["paths"].items() for method in methods]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with Store.open(Path(tmp_path_factory.mktemp("r21")) / "monitor.db", at=AT) as store:
        yield api_over(store)


@pytest.fixture(scope="module")
def known(api: Api) -> dict[str, str]:
    """Objects that exist, by the path parameter that names them."""
    endpoint = api.store.ensure_endpoint(identity(), at=AT)
    running = api.store.begin_run(start(endpoint.id), at=AT)
    api.store.add_samples(running, [sample("a")], at=AT)
    client = api.as_(Scope.ADMIN)
    client.post("/api/v1/models", json={"slug": "smol", "body": {}})
    check = client.post("/api/v1/checks", json={"endpoint_id": endpoint.id}).json()["id"]
    client.post(f"/api/v1/checks/{check}/cancel")
    run_id = finished_run(api.store, endpoint.id)
    return {"endpoint_id": endpoint.id, "run_id": run_id, "check_id": check, "slug": "smol"}


@pytest.fixture(scope="module")
def schema(api: Api) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", api.app)


@pytest.fixture(scope="module")
def token(api: Api) -> str:
    return api.token(Scope.ADMIN)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_r21_every_answer_is_documented_and_none_is_a_failure(
    schema: Any, known: dict[str, str], token: str, path: str, method: str, mode: GenerationMode
) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=schema[path][method].as_strategy(generation_mode=mode), existing=st.booleans())
    def answers(case: Any, existing: bool) -> None:
        if existing:
            case.path_parameters.update({name: known[name] for name in case.path_parameters if name in known})
        case.call_and_validate(headers={"Authorization": f"Bearer {token}", "Host": "localhost"}, checks=CHECKS)

    try:
        answers()
    except Unsatisfiable:
        # An operation without any parameter cannot be asked wrongly.
        assert mode is GenerationMode.NEGATIVE
