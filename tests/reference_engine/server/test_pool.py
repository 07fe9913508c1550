"""The reference service: the last few models stay open, one computes at a time, and only who may is answered."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from reference_engine import EngineError, ReferenceBackend
from reference_engine.server.pool import ReferencePool
from reference_engine.server.run import bind, is_loopback
from reference_engine.server.socket_file import bind_socket_file
from tests.reference_engine.pool_server import running_pool, url_of
from tests.reference_engine.tiny_models import TinyModel, write_gguf

PROMPT = [0, 40, 41]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, tiny_llama: TinyModel) -> list[str]:
    folder = tmp_path_factory.mktemp("models")
    return [str(write_gguf(folder / f"{name}.gguf", tiny_llama, "llama")) for name in "abc"]


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    bound = bind("127.0.0.1", 0)
    with running_pool(bound), httpx.Client(base_url=url_of(bound), timeout=60) as client:
        yield client


def is_open(engine: ReferenceBackend) -> bool:
    with suppress(EngineError):
        return bool(engine.next_tokens([PROMPT]))
    return False


def test_the_longest_unused_model_is_closed_for_the_next(models: list[str]) -> None:
    pool = ReferencePool(keep=2)
    first, second = (pool.engines.get(model).backend for model in models[:2])
    pool.engines.at_hand(models[0])

    third = pool.engines.get(models[2]).backend

    assert [is_open(engine) for engine in (first, second, third)] == [True, False, True]
    assert pool.engines.get(models[0]).backend is first
    pool.close()
    assert not is_open(first)


def test_a_model_whose_file_was_replaced_is_opened_again(models: list[str]) -> None:
    pool = ReferencePool(keep=2)
    first = pool.engines.get(models[0])
    os.utime(models[0], ns=(1, 1))

    again = pool.engines.get(models[0])

    assert not is_open(first.backend)
    assert again.revision == first.revision
    assert len(pool.engines) == 1
    pool.close()


def test_three_models_in_turn_are_answered_with_one_open(models: list[str]) -> None:
    bound = bind("127.0.0.1", 0)
    with running_pool(bound, keep=1), httpx.Client(base_url=url_of(bound), timeout=60) as client:
        question = {"prompts": [PROMPT], "top_k": 3, "token_ids": None, "profile": "fp32"}
        answers = [client.post("/v1/engine/next_tokens", json={"model": m, **question}) for m in [*models, *models]]

        assert {answer.status_code for answer in answers} == {200}
        assert client.get("/healthz").json() == {"status": "ok", "open": 1}


def test_a_problem_document_says_what_is_wrong(http: httpx.Client, tmp_path: Path) -> None:
    answer = http.post("/v1/engine/open", json={"model": str(tmp_path / "none.gguf")})

    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    problem = answer.json()
    assert (problem["code"], problem["status"]) == ("model_not_found", 503)
    assert "none.gguf" in problem["detail"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "JSON object"),
        (b"{}", "'model'"),
        (b'{"model": "relative/model.gguf", "text": "canary", "parse_special": true}', "absolute path"),
        (b'{"model": "bundled", "text": {"canary": 1}, "parse_special": true}', "'text'"),
        (b'{"model": "bundled", "text": "canary", "parse_special": true, "canary2": 1}', "canary2"),
    ],
)
def test_a_wrong_body_is_refused_without_its_texts(body: bytes, said: str, http: httpx.Client) -> None:
    answer = http.post("/v1/engine/tokenize", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (400, "engine_request_invalid")
    assert said in answer.json()["detail"]
    assert '"canary"' not in answer.text


def test_a_body_that_a_web_page_could_send_is_not_read(http: httpx.Client) -> None:
    answer = http.post("/v1/engine/open", content=b'{"model": "bundled"}', headers={"Content-Type": "text/plain"})

    assert answer.status_code == 415


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/engine/open", 405), ("POST", "/v1/other", 404)])
def test_what_is_not_there_is_no_wrong_request_of_the_engine(
    method: str, path: str, status: int, http: httpx.Client
) -> None:
    answer = http.request(method, path)

    assert (answer.status_code, answer.json()["code"]) == (status, "internal_error")


def test_a_token_is_asked_for_everywhere_but_where_health_is_shown() -> None:
    bound = bind("127.0.0.1", 0)
    with running_pool(bound, token="right"), httpx.Client(base_url=url_of(bound), timeout=60) as client:
        assert client.get("/healthz").status_code == 200
        for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "right"}):
            refused = client.post("/v1/engine/open", json={}, headers=header)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert client.post("/v1/other", headers={"Authorization": "Bearer right"}).status_code == 404


def test_a_socket_file_is_its_owners_and_taken_over_from_the_dead(tmp_path: Path) -> None:
    path = tmp_path / "pool.sock"
    bind_socket_file(path).close()

    with bind_socket_file(path) as bound:
        assert path.stat().st_mode & 0o777 == 0o600
        assert is_loopback(bound)
        bound.listen()
        with pytest.raises(EngineError, match="Address already in use"):
            bind_socket_file(path)


@pytest.mark.parametrize("name", ["a file", "no/such/folder", "x" * 200])
def test_a_path_that_cannot_be_a_socket_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("kept")

    with pytest.raises(EngineError, match=name):
        bind_socket_file(tmp_path / name)

    assert (tmp_path / "a file").read_text() == "kept"
