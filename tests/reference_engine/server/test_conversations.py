"""A reference service holds conversations: several at a time, each as the engine in this process would, to the bit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference_engine import Address, EngineError, EngineRequestError, ServedBackend, served
from reference_engine.engine import Engine
from reference_engine.remote import RemoteEngine
from reference_engine.server.run import bind
from reference_engine.server.socket_file import bind_socket_file
from tests.reference_engine.pool_server import running_pool, url_of
from tests.reference_engine.tiny_models import TinyModel, write_gguf


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    bound = bind("127.0.0.1", 0)
    with running_pool(bound, token="right"):
        yield url_of(bound)


@pytest.fixture(scope="module")
def remote(url: str, tiny_llama: TinyModel) -> Iterator[RemoteEngine]:
    engine = RemoteEngine(url, tiny_llama.folder, token="right")
    yield engine
    engine.close()


def client_of(address: Address) -> httpx.Client:
    transport = None if address.socket is None else httpx.HTTPTransport(uds=address.socket)
    headers = {} if address.token is None else {"Authorization": f"Bearer {address.token}"}
    return httpx.Client(base_url=address.base_url, headers=headers, transport=transport, timeout=60)


def chat(seed: int, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"then {seed}"}]
    return {"model": "m", "messages": messages, "seed": seed, "max_tokens": 20, "logprobs": True, **more}


BODIES = [chat(seed, n=1 + seed % 2) for seed in range(12)]


def answers(address: Address, bodies: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
    """Without what is another one for each request; all asked at the same time."""
    with client_of(address) as client, ThreadPoolExecutor(len(bodies)) as threads:
        found = list(threads.map(lambda body: client.post("/chat/completions", json=body), bodies))
    assert {one.status_code for one in found} == {200}
    return [{key: value for key, value in one.json().items() if key not in ("id", "created")} for one in found]


@pytest.mark.parametrize("profile", ["fp32", "w8-channel"])
def test_many_at_a_time_are_answered_as_the_engine_here_answers(
    profile: str, remote: RemoteEngine, tiny_engine: Engine
) -> None:
    with served(tiny_engine, profile=profile) as here, served(remote, profile=profile) as there:
        assert answers(there, BODIES) == answers(here, BODIES)


def test_what_is_scored_meanwhile_is_the_same_too(remote: RemoteEngine, tiny_engine: Engine) -> None:
    prompts = [[0, *range(2, 2 + length)] for length in range(1, 12)]

    with served(remote) as address, ThreadPoolExecutor(1) as threads:
        talking = threads.submit(answers, address, BODIES)
        scored = [remote.score(prompt, top_k=5) for prompt in prompts]
        assert len(talking.result(60)) == len(BODIES)

    assert scored == [tiny_engine.score(prompt, top_k=5) for prompt in prompts]


def test_a_stream_comes_token_by_token_to_its_end(remote: RemoteEngine) -> None:
    body = chat(1, stream=True, max_tokens=9, stop=[])
    with (
        client_of(remote.served("fp32")) as client,
        client.stream("POST", "/chat/completions", json=body) as answer,
    ):
        events = [line.removeprefix("data: ") for line in answer.iter_lines() if line]

    assert len(events) > 3
    assert events[-1] == "[DONE]"
    assert json.loads(events[-2])["choices"][0]["finish_reason"] in ("stop", "length")


def test_an_address_outlives_a_restart(tmp_path: Path, tiny_llama: TinyModel) -> None:
    path = tmp_path / "pool.sock"
    with running_pool(bind_socket_file(path)):
        engine = RemoteEngine(f"unix:{path}", tiny_llama.folder)
        address = engine.served("fp32")
        before = answers(address, BODIES[:2])
    with running_pool(bind_socket_file(path)):
        assert answers(address, BODIES[:2]) == before
    engine.close()

    assert (address.token, address.socket) == (None, str(path))


def test_a_service_holds_conversations_and_a_tokenizer_does_not(remote: RemoteEngine, tiny_engine: Engine) -> None:
    assert isinstance(remote, ServedBackend)
    assert not isinstance(tiny_engine, ServedBackend)


def test_who_has_no_token_holds_none(remote: RemoteEngine) -> None:
    address = remote.served("fp32")

    assert httpx.post(f"{address.base_url}/chat/completions", json=chat(1)).status_code == 401
    assert "right" not in repr(address)


@pytest.mark.parametrize(
    ("method", "name", "headers", "status"),
    [
        ("GET", None, {}, 405),
        ("POST", None, {"Content-Type": "text/plain"}, 415),
        ("POST", "bm90aGluZw", {"Content-Type": "application/json"}, 404),
        ("POST", "é", {"Content-Type": "application/json"}, 404),
    ],
)
def test_what_is_no_conversation_is_refused(
    method: str, name: str | None, headers: dict[str, str], status: int, remote: RemoteEngine, url: str
) -> None:
    base_url = remote.served("fp32").base_url if name is None else f"{url}/v1/conversations/{name}/v1"
    headers = {"Authorization": "Bearer right", **headers}

    answer = httpx.request(method, f"{base_url}/chat/completions", content=json.dumps(chat(1)), headers=headers)

    assert answer.status_code == status


def test_a_profile_that_does_not_exist_is_refused_before_a_conversation(remote: RemoteEngine) -> None:
    with pytest.raises(EngineRequestError, match="w3-odd"):
        remote.served("w3-odd")


def test_files_that_changed_hold_no_more_conversations_of_the_old_ones(
    url: str, tmp_path: Path, tiny_llama: TinyModel
) -> None:
    file = write_gguf(tmp_path / "m.gguf", tiny_llama, "llama")
    engine = RemoteEngine(url, file, token="right")
    address = engine.served("fp32")
    assert engine.is_current()
    write_gguf(file, tiny_llama, "llama", extra={"llama.rope.freq_base": 500.0})

    with client_of(address) as client:
        refused = client.post("/chat/completions", json=chat(1))

    assert refused.status_code == 503
    assert "model has changed" in refused.text
    assert not engine.is_current()
    with pytest.raises(EngineError, match="model has changed"):
        engine.served("fp32")
    engine.close()


def test_a_model_answers_to_the_end_before_it_makes_room_for_another(tmp_path: Path, tiny_llama: TinyModel) -> None:
    first, second = (write_gguf(tmp_path / f"{name}.gguf", tiny_llama, "llama") for name in "ab")
    bound = bind("127.0.0.1", 0)
    with running_pool(bound, keep=1), ThreadPoolExecutor(1) as threads:
        engine = RemoteEngine(url_of(bound), first)
        body = chat(3, stream=True, max_tokens=300, temperature=0)
        with (
            client_of(engine.served("fp32")) as client,
            client.stream("POST", "/chat/completions", json=body) as answer,
        ):
            lines = answer.iter_lines()
            next(lines)
            opening = threads.submit(RemoteEngine, url_of(bound), second)
            rest = [line for line in lines if line]
        other = opening.result(60)

        assert rest[-1] == "data: [DONE]"
        assert json.loads(rest[-2].removeprefix("data: "))["choices"][0]["finish_reason"] in ("stop", "length")
        assert other.describe().name == engine.describe().name
        engine.close()
        other.close()
