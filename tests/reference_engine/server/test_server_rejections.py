"""What the server says to requests it cannot serve: one error body, the right status, never a traceback."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx
import pytest
from openai import BadRequestError, NotFoundError, OpenAI

from reference_engine.errors import EngineError, EngineRequestError
from reference_engine.server import ServerSettings, create_app
from tests.reference_engine.server.tiny_backend import TinyBackend, chat

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"


def error_of(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return error


@pytest.fixture
def url(lasting_url: str) -> str:
    return lasting_url


@pytest.fixture
def http(lasting_http: httpx.Client) -> httpx.Client:
    return lasting_http


USER = [{"role": "user", "content": "hi"}]
TOOL_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("change", "param", "code"),
    [
        ({"temperature": 2.5}, "temperature", "invalid_value"),
        ({"temperature": -0.1}, "temperature", "invalid_value"),
        ({"temperature": "warm"}, "temperature", "invalid_type"),
        ({"top_p": 0}, "top_p", "invalid_value"),
        ({"top_p": 1.1}, "top_p", "invalid_value"),
        ({"max_tokens": -1}, "max_tokens", "invalid_value"),
        ({"max_tokens": 0}, "max_tokens", "invalid_value"),
        ({"max_tokens": "5"}, "max_tokens", "invalid_type"),
        ({"max_tokens": True}, "max_tokens", "invalid_type"),
        ({"max_tokens": 5, "max_completion_tokens": 6}, "max_tokens", "invalid_value"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs", "invalid_value"),
        ({"top_logprobs": 5}, "top_logprobs", "invalid_value"),
        ({"logprobs": 5}, "logprobs", "invalid_type"),
        ({"n": 0}, "n", "invalid_value"),
        ({"n": 129}, "n", "invalid_value"),
        ({"n": True}, "n", "invalid_type"),
        ({"logit_bias": {"5": 10}}, "logit_bias", "unsupported_value"),
        ({"presence_penalty": 0.5}, "presence_penalty", "unsupported_value"),
        ({"seed": 2**63}, "seed", "invalid_value"),
        ({"stop": ["a"] * 5}, "stop", "invalid_value"),
        ({"stop": ""}, "stop", "invalid_type"),
        ({"stop": [1]}, "stop", "invalid_type"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "invalid_value"),
        ({"tempreature": 1}, "tempreature", "unknown_parameter"),
        ({"messages": []}, "messages", "invalid_value"),
        ({"messages": "hi"}, "messages", "invalid_type"),
        ({"messages": [{"role": "wizard", "content": "hi"}]}, "messages[0].role", "invalid_value"),
        ({"messages": [{"content": "hi"}]}, "messages[0].role", "missing_required_parameter"),
        ({"messages": [{"role": "user"}]}, "messages[0]", "invalid_value"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0]", "invalid_value"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content", "invalid_type"),
        ({"messages": [{"role": "user", "content": ["hi"]}]}, "messages[0].content", "invalid_type"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "messages[0].content",
            "unsupported_content",
        ),
        ({"messages": [{"role": "user", "content": "x", "tool_calls": [TOOL_CALL]}]}, "messages[0]", "invalid_value"),
        ({"tools": [{"type": "retrieval"}]}, "tools[0].type", "invalid_value"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name", "missing_required_parameter"),
        ({"model": ""}, "model", "invalid_value"),
        ({"model": None}, "model", "invalid_type"),
    ],
)
def test_a_bad_chat_parameter_is_named(http: httpx.Client, change: dict[str, Any], param: str, code: str) -> None:
    error = error_of(http.post(CHAT, json={"model": "m", "messages": USER, **change}), 400)

    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
    assert param in error["message"]


@pytest.mark.parametrize(
    ("change", "param", "code"),
    [
        ({"prompt": []}, "prompt", "invalid_value"),
        ({"prompt": ""}, "prompt", "invalid_value"),
        ({"prompt": 5}, "prompt", "invalid_type"),
        ({"prompt": None}, "prompt", "invalid_type"),
        ({"prompt": ["a", 1]}, "prompt", "invalid_type"),
        ({"prompt": [True]}, "prompt", "invalid_type"),
        ({"prompt": [1, -1]}, "prompt", "invalid_value"),
        ({"prompt": [258]}, "prompt", "invalid_value"),
        ({"prompt": [[1], []]}, "prompt", "invalid_value"),
        ({"prompt": ["a"] * 129}, "prompt", "invalid_value"),
        ({"logprobs": 21}, "logprobs", "invalid_value"),
        ({"logprobs": True}, "logprobs", "invalid_type"),
        ({"max_tokens": 0}, "max_tokens", "invalid_value"),
        ({"best_of": 2}, "best_of", "unsupported_value"),
        ({"suffix": "x"}, "suffix", "unsupported_value"),
        ({"messages": USER}, "messages", "unknown_parameter"),
    ],
)
def test_a_bad_completion_parameter_is_named(http: httpx.Client, change: dict[str, Any], param: str, code: str) -> None:
    error = error_of(http.post(COMPLETIONS, json={"model": "m", "prompt": "hi", **change}), 400)

    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
    assert param in error["message"]


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b'{"model": ', "application/json", "invalid_json"),
        (b"", "application/json", "missing_body"),
        (b"[]", "application/json", "invalid_type"),
        (b'"text"', "application/json", "invalid_type"),
        (b'{"model": "m", "messages": []}', "text/plain", "invalid_content_type"),
        (b'"\xff"', "application/json", "invalid_json"),
        (b"[" * 100_000, "application/json", "invalid_json"),
        (json.dumps(chat("half a pair: \ud83d")).encode(), "application/json", "invalid_value"),
        (json.dumps(chat("x", **{"\ud83d": 1})).encode(), "application/json", "invalid_value"),
        (
            b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "temperature": NaN}',
            "application/json",
            "invalid_value",
        ),
    ],
)
def test_a_body_that_is_no_request_is_refused(http: httpx.Client, body: bytes, content_type: str, code: str) -> None:
    error = error_of(http.post(CHAT, content=body, headers={"content-type": content_type}), 400)

    assert error["type"] == "invalid_request_error"
    assert error["code"] == code


def test_values_that_change_nothing_are_accepted(http: httpx.Client) -> None:
    neutral = {
        "n": 1,
        "presence_penalty": 0.0,
        "frequency_penalty": 0,
        "logit_bias": {},
        "response_format": {"type": "text"},
        "tool_choice": "none",
        "user": "someone",
        "metadata": {"a": "b"},
        "stop": None,
        "seed": None,
        "stream": None,
        "max_tokens": None,
        "logprobs": None,
    }

    assert http.post(CHAT, json=chat("hi", **neutral)).status_code == 200


def test_a_path_that_does_not_exist_is_404(http: httpx.Client) -> None:
    assert error_of(http.get("/v1/embeddings"), 404)["code"] == "not_found"


def test_a_method_that_is_not_served_is_405_and_names_the_right_one(http: httpx.Client) -> None:
    answer = http.get(CHAT)

    assert error_of(answer, 405)["code"] == "method_not_allowed"
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_413(start_server, chunked: bool) -> None:
    url = start_server(TinyBackend(), ServerSettings(max_body_bytes=1000))
    body = json.dumps(chat("x" * 2000)).encode()
    content = (body[at : at + 100] for at in range(0, len(body), 100)) if chunked else body

    answer = httpx.post(f"{url}{CHAT}", content=content, headers={"content-type": "application/json"})

    assert error_of(answer, 413)["code"] == "request_too_large"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, chat("x" * 600)),
        (CHAT, chat("hi", max_tokens=512)),
        (CHAT, chat("hi", max_completion_tokens=2**40)),
        (COMPLETIONS, {"model": "m", "prompt": "x" * 513}),
        (COMPLETIONS, {"model": "m", "prompt": "x" * 512}),
        (COMPLETIONS, {"model": "m", "prompt": "hi", "max_tokens": 511}),
        (COMPLETIONS, {"model": "m", "prompt": "x" * 513, "max_tokens": 0, "echo": True}),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_more_than_the_context_is_refused(http: httpx.Client, path: str, body: dict[str, Any], stream: bool) -> None:
    error = error_of(http.post(path, json={**body, "stream": stream}), 400)

    assert error["code"] == "context_length_exceeded"
    assert "512 tokens" in error["message"]


def test_a_full_context_can_be_scored_and_a_nearly_full_one_continued(http: httpx.Client) -> None:
    full = {"model": "m", "prompt": "x" * 512, "max_tokens": 0, "echo": True, "logprobs": 1}
    nearly = {"model": "m", "prompt": "x" * 510}

    assert http.post(COMPLETIONS, json=full).status_code == 200
    assert http.post(COMPLETIONS, json=nearly).json()["usage"]["completion_tokens"] <= 2


def test_any_name_is_served_and_echoed_unless_one_was_given(client: OpenAI) -> None:
    assert client.chat.completions.create(**{**chat("hi"), "model": "org/any"}).model == "org/any"
    assert client.models.retrieve("org/any").id == "org/any"
    assert [model.id for model in client.models.list()] == ["tiny"]


def test_the_listed_name_is_the_operators_where_any_is_served(start_server) -> None:
    url = start_server(TinyBackend(), ServerSettings(listed_name="tiny-q4"))

    assert [card["id"] for card in httpx.get(f"{url}/v1/models").json()["data"]] == ["tiny-q4"]


def test_with_a_served_name_others_are_not_found(start_server) -> None:
    url = start_server(TinyBackend(), ServerSettings(served_name="org/mine"))

    with OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["org/mine"]
        assert client.models.retrieve("org/mine").owned_by == "reference-engine"
        assert client.chat.completions.create(**{**chat("hi"), "model": "org/mine"}).model == "org/mine"
        with pytest.raises(NotFoundError) as chat_refusal:
            client.chat.completions.create(**chat("hi"))
        with pytest.raises(NotFoundError) as card_refusal:
            client.models.retrieve("other")

    assert chat_refusal.value.code == card_refusal.value.code == "model_not_found"
    assert "org/mine" in str(chat_refusal.value)


def test_the_engines_refusal_is_the_clients_error(start_server) -> None:
    backend = TinyBackend(failing_after=0, failure=EngineRequestError("No such thing.", remedy="Ask for another."))
    url = start_server(backend)

    with OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:
        with pytest.raises(BadRequestError) as plain:
            client.chat.completions.create(**chat("hi"))
        with pytest.raises(BadRequestError) as streamed:
            client.chat.completions.create(**chat("hi", stream=True))

    assert plain.value.code == streamed.value.code == "engine_request_invalid"
    assert "Ask for another." in str(plain.value)


def test_a_reference_that_cannot_be_used_is_503(start_server) -> None:
    url = start_server(TinyBackend(failing_after=0, failure=EngineError("The weights are gone.")))

    error = error_of(httpx.post(f"{url}{CHAT}", json=chat("hi")), 503)

    assert (error["type"], error["code"]) == ("server_error", "reference_unavailable")


@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_inside_is_500_with_an_id_and_the_prompt_stays_out_of_the_log(
    start_server, caplog: pytest.LogCaptureFixture, stream: bool
) -> None:
    url = start_server(TinyBackend(failing_after=0))

    with caplog.at_level(logging.DEBUG):
        error = error_of(httpx.post(f"{url}{CHAT}", json=chat("my secret prompt", stream=stream)), 500)

    assert (error["type"], error["code"]) == ("server_error", "internal_error")
    error_id = error["message"].split("Error id ")[1].split(";")[0]
    assert error_id in caplog.text
    assert "ValueError at tiny_backend.py" in caplog.text
    for private in ("private prompt text", "my secret prompt"):
        assert private not in caplog.text
        assert private not in error["message"]


def test_a_failure_in_mid_stream_comes_in_band_and_ends_the_stream(start_server) -> None:
    url = start_server(TinyBackend(script=b"hello", failing_after=3))

    answer = httpx.post(f"{url}{CHAT}", json=chat("hi", stream=True, temperature=0))

    assert answer.status_code == 200
    events = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert json.loads(events[-1])["error"]["code"] == "internal_error"
    assert "[DONE]" not in answer.text
    assert "".join(json.loads(event)["choices"][0]["delta"]["content"] for event in events[:-1]) == "hel"


def test_settings_that_do_not_suit_the_model_stop_the_server_before_it_starts() -> None:
    with pytest.raises(EngineRequestError, match=r"Unknown profile 'fp64'. Use one of: fp32, bf16"):
        create_app(TinyBackend(), ServerSettings(profile="fp64"))
    with pytest.raises(EngineRequestError, match="chat template"):
        create_app(TinyBackend(), ServerSettings(chat_template="{% for %}"))
