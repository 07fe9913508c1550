"""Answers held to a schema over HTTP, and what is said to those whose schema cannot be kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
import pytest

from reference_engine.engine import Engine
from reference_engine.server import ServerSettings
from tests.reference_engine.server.chat_stream import CHAT, in_both_forms, whole
from tests.reference_engine.server.conftest import running
from tests.reference_engine.server.tiny_backend import chat

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"the": {"enum": ["then", "than"]}, "n": {"type": "integer", "minimum": -9, "maximum": 120}},
    "required": ["the", "n"],
    "additionalProperties": False,
}
TOO_MANY_FIELDS = {
    "type": "object",
    "properties": {f"p{index}": {"type": "integer"} for index in range(520)},
    "additionalProperties": False,
}


def held_to(schema: Any, **more: Any) -> dict[str, Any]:
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return {**chat("hi"), "response_format": wanted, "seed": 5, **more}


@pytest.fixture(scope="module")
def tiny_url(tiny_engine: Engine) -> Iterator[str]:
    with running(tiny_engine, ServerSettings()) as url:
        yield url


@pytest.fixture(scope="module")
def tools_url(tiny_engine: Engine) -> Iterator[str]:
    """Its template knows tools, and writes little of them: the tiny model's context is short."""
    template = "{{ (tools | tojson)[:9] if tools }}{{ messages[-1].content }}"
    with running(tiny_engine, ServerSettings(chat_template=template)) as url:
        yield url


def content_of(body: dict[str, Any]) -> str:
    content: str = body["choices"][0]["message"]["content"]
    return content


@pytest.mark.parametrize("temperature", [0, 1.5])
def test_an_answer_fits_its_schema(tiny_url: str, temperature: float) -> None:
    body = in_both_forms(tiny_url, held_to(SCHEMA, temperature=temperature))

    jsonschema.validate(json.loads(content_of(body)), SCHEMA)
    assert body["choices"][0]["finish_reason"] == "stop"


def test_a_json_object_is_an_object(tiny_url: str) -> None:
    body = whole(tiny_url, {**chat("hi"), "response_format": {"type": "json_object"}, "seed": 1, "max_tokens": 100})

    assert content_of(body).startswith("{")


def test_an_answer_that_is_cut_says_so(tiny_url: str) -> None:
    body = in_both_forms(tiny_url, held_to(SCHEMA, max_tokens=5))

    assert body["choices"][0]["finish_reason"] == "length"
    assert content_of(body).startswith("{")


def test_masked_logprobs_stand_beside_the_raw_ones_where_there_is_a_mask(tiny_url: str) -> None:
    held, free = (
        whole(tiny_url, {**request, "logprobs": True, "top_logprobs": 3, "temperature": 0, "max_tokens": 4})
        for request in (held_to(SCHEMA), chat("hi"))
    )

    first = held["choices"][0]["logprobs"]["content"][0]
    assert first["bytes"] == list(b"{")
    assert first["masked_logprob"] == 0
    assert first["logprob"] < 0
    assert first["top_logprobs"] == free["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    assert "masked_logprob" not in first["top_logprobs"][0]
    assert "masked_logprob" not in free["choices"][0]["logprobs"]["content"][0]


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"type": "strng"}, "wrong at #/type"),
        ({"not": {}}, "Unimplemented"),
        ({"$ref": "http://example.com/x"}, "another document"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "greater than maximum"),
        ({"enum": ["x" * 70_000]}, "65536 are allowed"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_that_cannot_be_kept_is_the_clients_error(
    tiny_url: str, schema: dict[str, Any], named: str, stream: bool
) -> None:
    answer = httpx.post(f"{tiny_url}{CHAT}", json=held_to(schema, stream=stream), timeout=60)

    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["param"], error["code"]) == ("response_format", "invalid_value")
    assert named in error["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_that_proves_too_complex_ends_its_answer_and_no_other(tiny_url: str, stream: bool) -> None:
    """Its first token is forced, so that the error comes with the second."""
    expected = content_of(whole(tiny_url, held_to(SCHEMA)))
    asked = held_to(TOO_MANY_FIELDS, stream=stream, logprobs=True)

    answer = httpx.post(f"{tiny_url}{CHAT}", json=asked, timeout=60)

    assert answer.status_code == (200 if stream else 400)
    error = json.loads(answer.text.split("\n\n")[-2].removeprefix("data: ") if stream else answer.text)["error"]
    assert error["code"] == "engine_request_invalid"
    assert "cannot be held to its schema" in error["message"]
    assert content_of(whole(tiny_url, held_to(SCHEMA))) == expected
    assert httpx.get(f"{tiny_url}/health").json()["active"] == 0


def test_a_client_that_leaves_a_held_answer_leaves_nothing_behind(tiny_url: str, tiny_engine: Engine) -> None:
    request = held_to({"type": "array", "items": {"const": "the"}, "minItems": 500}, stream=True)

    with httpx.stream("POST", f"{tiny_url}{CHAT}", json=request, timeout=60) as answer:
        assert next(answer.iter_lines()).startswith("data: ")

    while httpx.get(f"{tiny_url}/health").json()["active"]:
        continue
    tiny_engine.score([2, 3])
    assert all(lane.idle for lane in tiny_engine.lanes())


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": "json_object"}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"response_format": {"type": "text", "json_schema": {"name": "a", "schema": {}}}}, "response_format"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}},
         "response_format.json_schema.name"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}},
         "response_format.json_schema.schema"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": []}}},
         "response_format.json_schema.schema"),
        ({"prompt_logprobs": 1, "stream": True}, "prompt_logprobs"),
        ({"prompt_logprobs": 21}, "prompt_logprobs"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "always", "tools": [{"type": "function", "function": {"name": "f"}}]}, "tool_choice"),
        ({"tool_choice": 3}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "g"}},
          "tools": [{"type": "function", "function": {"name": "f"}}]}, "tool_choice"),
        ({"tool_choice": {"type": "function"}, "tools": [{"type": "function", "function": {"name": "f"}}]},
         "tool_choice"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}] * 2}, "tools"),
        ({"tools": [{"type": "function", "function": {"name": f"f{index}"}} for index in range(129)]}, "tools"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}], "response_format": {"type": "json_object"}},
         "response_format"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required",
          "response_format": {"type": "json_object"}}, "response_format"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}],
          "tool_choice": "required"}, "tools"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"not": {}}}}],
          "tool_choice": "required"}, "tools"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_by_name(tools_url: str, change: dict[str, Any], param: str) -> None:
    answer = httpx.post(f"{tools_url}{CHAT}", json={**chat("hi"), **change})

    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["param"] == param
    assert param in error["message"]


def test_tools_that_are_not_called_may_stand_beside_a_schema(tools_url: str) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]

    body = whole(tools_url, held_to(SCHEMA, tools=tools, tool_choice="none"))

    jsonschema.validate(json.loads(content_of(body)), SCHEMA)


@pytest.mark.parametrize("depth", [30, 60, 900])
def test_tools_nested_deep_are_rendered_or_refused(tools_url: str, depth: int) -> None:
    parameters: dict[str, Any] = {}
    for _ in range(depth):
        parameters = {"a": parameters}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]

    for choice in ("auto", "required"):
        request = {**chat("hi"), "tools": tools, "tool_choice": choice, "max_tokens": 1}
        answer = httpx.post(f"{tools_url}{CHAT}", json=request)
        assert answer.status_code in (200, 400), answer.text
        if answer.status_code == 400:
            assert answer.json()["error"]["message"]


def test_a_template_that_refuses_tools_is_the_clients_error(start_server, tiny_engine: Engine) -> None:
    template = "{% if tools %}{{ raise_exception('no tools here') }}{% endif %}{{ messages[0].content }}"
    url = start_server(tiny_engine, ServerSettings(chat_template=template))
    tools = [{"type": "function", "function": {"name": "f"}}]

    answer = httpx.post(f"{url}{CHAT}", json={**chat("hi"), "tools": tools})

    assert answer.status_code == 400
    assert "no tools here" in answer.json()["error"]["message"]


@pytest.mark.model
def test_the_bundled_model_fills_in_a_schema(bundled_url: str) -> None:
    schema = {
        "type": "object",
        "properties": {"capital": {"type": "string", "maxLength": 20}, "in_europe": {"type": "boolean"}},
        "required": ["capital", "in_europe"],
        "additionalProperties": False,
    }
    question = [{"role": "user", "content": "What is the capital of France? Is it in Europe? Answer in JSON."}]

    body = whole(bundled_url, {**held_to(schema), "messages": question, "temperature": 0, "max_tokens": 60})

    found = json.loads(content_of(body))
    jsonschema.validate(found, schema)
    assert found["capital"] == "Paris"
