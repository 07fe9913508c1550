"""Our own answers are in contract: the wire reader finds nothing to remark in any of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from typing import Any

import httpx
import pytest

from probes.completion import Completion, Endpoint
from probes.quirks import Disposition
from probes.reader import read
from tests.reference_engine.server.tiny_backend import TinyBackend

CHAT: Endpoint = "/v1/chat/completions"
COMPLETIONS: Endpoint = "/v1/completions"
STREAMS: tuple[dict[str, Any], ...] = (
    {},
    {"stream": True},
    {"stream": True, "stream_options": {"include_usage": True}},
)
CHAT_LOGPROBS: tuple[dict[str, Any], ...] = ({}, {"logprobs": True}, {"logprobs": True, "top_logprobs": 20})
COMPLETION_LOGPROBS: tuple[dict[str, Any], ...] = ({}, {"logprobs": 0}, {"logprobs": 20})
LIMITS = (1, 13, 40)


def requests_for(endpoint: Endpoint, limits: Sequence[int] = LIMITS, **more: Any) -> list[dict[str, Any]]:
    """Every combination of stream, usage, logprobs and length, greedily."""
    chat = endpoint == CHAT
    prompt: dict[str, Any] = (
        {"messages": [{"role": "user", "content": "What is the capital of France? Answer in a few words."}]}
        if chat
        else {"prompt": "The capital of France is"}
    )
    shapes = product(STREAMS, CHAT_LOGPROBS if chat else COMPLETION_LOGPROBS, limits)
    return [
        {"model": "smol", **prompt, "temperature": 0, "max_tokens": limit, **stream, **logprobs, **more}
        for stream, logprobs, limit in shapes
    ]


def ask(url: str, endpoint: Endpoint, request: dict[str, Any]) -> Completion:
    answer = httpx.post(f"{url}{endpoint}", json=request, timeout=300)
    return read(request, endpoint=endpoint, http_status=answer.status_code, headers=answer.headers, body=answer.content)


def check(url: str, endpoint: Endpoint, request: dict[str, Any]) -> Completion:
    completion = ask(url, endpoint, request)
    assert completion.quirks == (), json.dumps(request)
    assert completion.disposition is Disposition.ACCEPT
    assert (completion.logprobs is not None) == ("logprobs" in request)
    assert completion.finish_reason in ("stop", "length")
    assert (completion.usage is None) == (request.get("stream", False) and "stream_options" not in request)
    return completion


@pytest.mark.parametrize("endpoint", [CHAT, COMPLETIONS])
def test_answers_that_split_characters_over_tokens_show_no_quirk(start_server, endpoint: Endpoint) -> None:
    url = start_server(TinyBackend(script="Bonjour, né à 5 € 😀.".encode()))

    completions = [check(url, endpoint, request) for request in requests_for(endpoint)]

    texts = {completion.content if endpoint == CHAT else completion.text for completion in completions}
    assert texts == {"B", "Bonjour, né ", "Bonjour, né à 5 € 😀."}


@pytest.mark.parametrize("endpoint", [CHAT, COMPLETIONS])
@pytest.mark.parametrize("limit", [12, 21, 22, 25])
def test_an_answer_cut_inside_a_character_shows_no_quirk(start_server, endpoint: Endpoint, limit: int) -> None:
    url = start_server(TinyBackend(script="Bonjour, né à 5 € 😀.".encode()))

    for request in requests_for(endpoint, [limit]):
        check(url, endpoint, request)


@pytest.mark.parametrize("endpoint", [CHAT, COMPLETIONS])
def test_stop_strings_and_seeds_show_no_quirk(start_server, endpoint: Endpoint) -> None:
    url = start_server(TinyBackend(script=b"one, two, three"))

    for request in requests_for(endpoint, stop=[" t", "zzz"], seed=3):
        check(url, endpoint, request)


@pytest.mark.parametrize("stream", STREAMS)
def test_echoed_prompts_show_no_quirk(start_server, stream: dict[str, Any]) -> None:
    url = start_server(TinyBackend(script=b"hello"))
    request = {"model": "m", "prompt": "hel", "temperature": 0, "max_tokens": 9, "echo": True, "logprobs": 5, **stream}

    completion = check(url, COMPLETIONS, request)

    assert completion.text == "hello"


def test_refusals_are_read_as_the_errors_they_are(lasting_url: str) -> None:
    refused = ask(lasting_url, CHAT, {"model": "m", "messages": [], "stream": True})
    missing = ask(lasting_url, COMPLETIONS, {"model": "m", "prompt": "x" * 600})

    assert (refused.http_status, refused.error_code) == (400, "invalid_value")
    assert (missing.http_status, missing.error_code) == (400, "context_length_exceeded")
    assert refused.quirks == missing.quirks == ()


@pytest.mark.model
@pytest.mark.parametrize("endpoint", [CHAT, COMPLETIONS])
def test_the_bundled_models_answers_show_no_quirk(bundled_url: str, endpoint: Endpoint) -> None:
    limits = (1, 20) if endpoint == CHAT else (1, 3)

    finishes = {check(bundled_url, endpoint, request).finish_reason for request in requests_for(endpoint, limits)}

    assert finishes == ({"length", "stop"} if endpoint == CHAT else {"length"})


@pytest.mark.model
@pytest.mark.parametrize("endpoint", [CHAT, COMPLETIONS])
def test_the_bundled_models_sampled_answers_show_no_quirk(bundled_url: str, endpoint: Endpoint) -> None:
    logprobs: dict[str, Any] = {"logprobs": True} if endpoint == CHAT else {"logprobs": 20}
    for stream in STREAMS:
        (request, *_) = requests_for(endpoint, [8], temperature=1, top_p=0.9, seed=11)
        check(bundled_url, endpoint, {**request, **stream, **logprobs})
