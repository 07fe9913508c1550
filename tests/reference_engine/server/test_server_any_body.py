"""Whatever JSON arrives: an answer, or an error that is the client's, and never a failure inside."""

from __future__ import annotations

import json
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": ROLES, "content": st.text(max_size=8) | JSON},
        optional={"tool_calls": JSON, "name": JSON, "tool_call_id": JSON},
    ),
    max_size=3,
)
SHARED = {
    "max_tokens": st.integers(0, 4) | JSON,
    "temperature": st.floats(0, 2) | JSON,
    "top_p": st.floats(0, 1) | JSON,
    "seed": st.integers(-(2**63), 2**63 - 1) | JSON,
    "stop": st.text(max_size=3) | st.lists(st.text(max_size=3), max_size=5) | JSON,
    "stream": st.booleans() | JSON,
    "stream_options": st.just({"include_usage": True}) | JSON,
    "n": st.integers(0, 3) | JSON,
}
TOOLS = st.lists(
    st.fixed_dictionaries(
        {"type": st.just("function"), "function": st.fixed_dictionaries({"name": st.just("f"), "parameters": JSON})}
    ),
    max_size=2,
)
FORMATS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "json_object", "json_schema"])},
    optional={"json_schema": st.fixed_dictionaries({"name": st.just("a"), "schema": JSON}) | JSON},
)
CHAT = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": MESSAGES | JSON},
    optional={
        **SHARED,
        "logprobs": st.booleans() | JSON,
        "top_logprobs": st.integers(0, 21) | JSON,
        "prompt_logprobs": st.integers(0, 21) | JSON,
        "return_token_ids": st.booleans() | JSON,
        "tools": TOOLS | JSON,
        "tool_choice": st.sampled_from(["auto", "none", "required"]) | JSON,
        "parallel_tool_calls": st.booleans() | JSON,
        "response_format": FORMATS | JSON,
    },
)
COMPLETION = st.fixed_dictionaries(
    {"model": st.just("m"), "prompt": st.text() | st.lists(st.integers(-1, 260)) | JSON},
    optional={
        **SHARED,
        "logprobs": st.integers(0, 21) | JSON,
        "echo": st.booleans() | JSON,
        "prompt_logprobs": st.integers(0, 21) | JSON,
        "return_token_ids": st.booleans() | JSON,
    },
)
IDS = st.lists(st.integers(-1, 260), max_size=5)
SCORE = st.fixed_dictionaries(
    {},
    optional={
        "prompt": st.text(max_size=5) | IDS | JSON,
        "prompts": st.lists(IDS | st.text(max_size=5), max_size=3) | JSON,
        "start": st.integers(-1, 6) | JSON,
        "top_k": st.integers(0, 258) | JSON,
        "token_ids": IDS | JSON,
        "model": JSON,
    },
)


def _check(http: httpx.Client, path: str, body: Any) -> None:
    answer = http.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
    assert answer.status_code in (200, 400), answer.text
    if answer.status_code == 400:
        assert answer.json()["error"]["message"]
    else:
        assert '"error"' not in answer.text


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=CHAT | JSON)
def test_a_chat_request_of_any_shape(lasting_http: httpx.Client, body: Any) -> None:
    _check(lasting_http, "/v1/chat/completions", body)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=COMPLETION | JSON)
def test_a_completion_request_of_any_shape(lasting_http: httpx.Client, body: Any) -> None:
    _check(lasting_http, "/v1/completions", body)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=SCORE | JSON)
def test_a_score_request_of_any_shape(lasting_http: httpx.Client, body: Any) -> None:
    _check(lasting_http, "/v1/score", body)
