"""Many clients at once: side by side, bounded, and nothing computed for those who left."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from reference_engine.server import ServerSettings
from tests.reference_engine.server.tiny_backend import Endless, TinyBackend, chat

CHAT = "/v1/chat/completions"


@pytest.fixture
def pool():
    with ThreadPoolExecutor(16) as pool:
        yield pool


def _post(url: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(f"{url}/v1/completions", json={"model": "m", "temperature": 0, **body}, timeout=60)


def _health(url: str) -> dict[str, Any]:
    answer: dict[str, Any] = httpx.get(f"{url}/health", timeout=60).json()
    return answer


def _until(url: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Asks /health until it shows what is wanted; the test's own time limit bounds the wait."""
    while not wanted(health := _health(url)):
        continue
    return health


def test_health_and_models_answer_while_a_generation_runs(start_server, pool) -> None:
    backend = TinyBackend(script=b"hello", gate=threading.Event())
    url = start_server(backend)
    running = pool.submit(_post, url, {"prompt": "a"})
    assert backend.stepping.wait(60)

    health, models = _health(url), httpx.get(f"{url}/v1/models")

    assert health == {
        "status": "ok",
        "model": "tiny",
        "profile": "fp32",
        "system_fingerprint": backend.fingerprint("fp32"),
        "exactness": "oracle",
        "remark": None,
        "active": 1,
        "waiting": 0,
        "draining": False,
    }
    assert models.status_code == 200
    assert not running.done()
    backend.gate.set()
    assert running.result().json()["choices"][0]["text"] == "hello"


class Gathering(TinyBackend):
    """Goes on once `company` generations are at their first step at the same time."""

    def __init__(self, company: int) -> None:
        super().__init__(script=b"hello")
        self._all = threading.Barrier(company, timeout=60)

    def _step(self, ids: Sequence[int], count: int) -> None:
        if count == 1:
            self._all.wait()


def test_requests_are_with_the_engine_at_the_same_time(start_server) -> None:
    url = start_server(Gathering(64))
    body = {"model": "m", "prompt": "a", "temperature": 0}
    limits = httpx.Limits(max_connections=64)

    with ThreadPoolExecutor(64) as clients, httpx.Client(base_url=url, timeout=60, limits=limits) as http:
        answers = list(clients.map(lambda _: http.post("/v1/completions", json=body), range(64)))

    assert [answer.json()["choices"][0]["text"] for answer in answers] == ["hello"] * 64


@pytest.mark.parametrize("stream", [False, True])
def test_so_are_all_prompts_of_one_request(start_server, stream: bool) -> None:
    url = start_server(Gathering(8))

    assert "error" not in _post(url, {"prompt": ["a"] * 4, "n": 2, "stream": stream}).text


def test_a_request_of_more_prompts_than_there_are_places_takes_them_as_they_become_free(start_server) -> None:
    url = start_server(TinyBackend(script=b"hello"), ServerSettings(active_limit=2))

    answer = _post(url, {"prompt": ["a", "hel", "b", "he", "c"]})

    assert [choice["text"] for choice in answer.json()["choices"]] == ["hello", "lo", "hello", "llo", "hello"]


def test_those_over_the_limit_wait_and_those_over_the_queue_are_told_when_to_come_back(start_server, pool) -> None:
    backend = TinyBackend(script=b"hello", gate=threading.Event())
    url = start_server(backend, ServerSettings(active_limit=1, queue_limit=2))
    asked = [pool.submit(_post, url, {"prompt": "a"}) for _ in range(3)]
    _until(url, lambda health: (health["active"], health["waiting"]) == (1, 2))

    refused = [_post(url, {"prompt": "a", "stream": stream}) for stream in (False, True)]

    for answer in refused:
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["error"]["code"] == "rate_limit_exceeded"
        assert answer.json()["error"]["type"] == "rate_limit_error"
    backend.gate.set()
    assert [one.result().status_code for one in asked] == [200] * 3
    assert _until(url, lambda health: health["active"] == 0)["waiting"] == 0


def test_a_client_that_leaves_mid_stream_ends_its_generation(start_server) -> None:
    backend = Endless()
    url = start_server(backend)

    with httpx.stream("POST", f"{url}{CHAT}", json=chat("hi", stream=True, temperature=0), timeout=60) as answer:
        assert next(answer.iter_lines()).startswith("data: ")

    assert backend.abandoned.wait(60)
    assert _until(url, lambda health: health["active"] == 0)["waiting"] == 0


@contextmanager
def _waiting_client(url: str, body: dict[str, Any]) -> Iterator[None]:
    """A client that has sent its request and hangs up at the end of the block, whatever came."""
    content = json.dumps(body).encode()
    head = (
        f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)) as connection:
        connection.sendall(head.encode() + content)
        yield


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_before_its_answer_ends_its_generation(start_server, stream: bool) -> None:
    backend = Endless(gate=threading.Event())
    url = start_server(backend)

    with _waiting_client(url, chat("hi", stream=stream, temperature=0)):
        assert backend.stepping.wait(60)

    _until(url, lambda health: health["active"] == 0)
    backend.gate.set()
    assert backend.abandoned.wait(60)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_the_queue_frees_its_place(start_server, pool, stream: bool) -> None:
    backend = TinyBackend(script=b"hello", gate=threading.Event())
    url = start_server(backend, ServerSettings(active_limit=1))
    running = pool.submit(_post, url, {"prompt": "a"})
    _until(url, lambda health: health["active"] == 1)

    with _waiting_client(url, chat("hi", stream=stream)):
        _until(url, lambda health: health["waiting"] == 1)

    _until(url, lambda health: health["waiting"] == 0)
    backend.gate.set()
    assert running.result().status_code == 200


def test_a_client_that_stops_reading_is_dropped(start_server) -> None:
    backend = Endless()
    url = start_server(backend, ServerSettings(write_timeout_s=0.2))
    request = chat("hi", stream=True, temperature=0, logprobs=True, top_logprobs=20)

    with httpx.stream("POST", f"{url}{CHAT}", json=request, timeout=60) as answer:
        assert answer.status_code == 200
        assert backend.abandoned.wait(120)

    assert _until(url, lambda health: health["active"] == 0)["waiting"] == 0
