"""Calls of tools over HTTP: told of by the template, read out of what the model writes, and never lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import jsonschema
import pytest
from openai import OpenAI

from probes.reader import read
from reference_engine import load_engine
from reference_engine.engine import Engine
from reference_engine.server import ServerSettings
from tests.reference_engine.server.chat_stream import CHAT, chunks, in_both_forms, whole
from tests.reference_engine.server.conftest import running
from tests.reference_engine.server.tiny_backend import TinyBackend, chat
from tests.reference_engine.tiny_models import TinyModel, tiny_tokenizer

CALL = '<tool_call>\n{"name": "lookup", "arguments": {"q": "né €"}}\n</tool_call>'
OTHER = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
CUT = '<tool_call>\n{"name": "lookup", "arguments": {"q": 1'
LOOKUP = {"name": "lookup", "arguments": '{"q": "né €"}'}
NOW = {"name": "now", "arguments": "{}"}
UNIT: dict[str, Any] = {
    "type": "object",
    "properties": {"unit": {"enum": ["C", "F"]}},
    "required": ["unit"],
    "additionalProperties": False,
}


def tool(name: str, parameters: Any = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters or {"type": "object"}}}


TOOLS = [tool("lookup"), tool("now")]


def functions(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [call["function"] for call in body["choices"][0]["message"].get("tool_calls", ())]


@pytest.mark.parametrize(
    ("script", "content", "called", "reason"),
    [
        (CALL, None, [LOOKUP], "tool_calls"),
        (f"Let me see.\n{CALL}", "Let me see.\n", [LOOKUP], "tool_calls"),
        (f"{CALL}\n{OTHER}", None, [LOOKUP, NOW], "tool_calls"),
        ("No call, and 5 < 6.", "No call, and 5 < 6.", [], "stop"),
        (CUT, CUT, [], "stop"),
        (f"{CUT}\n</tool_call>", f"{CUT}\n</tool_call>", [], "stop"),
        (f"{OTHER}{CUT}", CUT, [NOW], "tool_calls"),
    ],
)
def test_calls_are_read_out_of_what_the_model_writes(
    start_server, script: str, content: str | None, called: list[dict[str, Any]], reason: str
) -> None:
    url = start_server(TinyBackend(script=script.encode()))

    body = in_both_forms(url, {**chat("hi"), "tools": TOOLS, "temperature": 0})

    assert body["tools_rendered"] == "template"
    assert body["choices"][0]["message"]["content"] == content
    assert functions(body) == called
    assert body["choices"][0]["finish_reason"] == reason
    assert body["usage"]["completion_tokens"] == len(script.encode()) + 1


def test_a_call_that_is_cut_is_content(start_server) -> None:
    url = start_server(TinyBackend(script=(OTHER + CALL).encode()))
    most = len((OTHER + CALL).encode()) - 5

    body = in_both_forms(url, {**chat("hi"), "tools": TOOLS, "temperature": 0, "max_tokens": most})

    assert body["choices"][0]["message"]["content"] == CALL[:-5]
    assert functions(body) == [NOW]
    assert body["choices"][0]["finish_reason"] == "length"


def test_with_tool_choice_none_all_is_content_and_the_tools_are_still_told(start_server) -> None:
    url = start_server(TinyBackend(script=CALL.encode()))
    request = {**chat("hi"), "tools": TOOLS, "temperature": 0}

    body, auto = (in_both_forms(url, {**request, "tool_choice": choice}) for choice in ("none", "auto"))

    assert body["choices"][0]["message"]["content"] == CALL
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["tools_rendered"] == "template"
    assert body["usage"]["prompt_tokens"] == auto["usage"]["prompt_tokens"]


def test_without_parallel_calls_an_answer_ends_with_its_first(start_server) -> None:
    backend = TinyBackend(script=(CALL + OTHER).encode())
    url = start_server(backend)
    request = {**chat("hi"), "tools": TOOLS, "temperature": 0, "parallel_tool_calls": False}

    body = in_both_forms(url, request)

    assert functions(body) == [LOOKUP]
    assert body["choices"][0]["finish_reason"] == "tool_calls"
    assert body["usage"]["completion_tokens"] == len(CALL.encode())
    assert backend.abandoned.wait(60)


def test_a_stop_string_inside_a_call_leaves_what_was_said(start_server) -> None:
    url = start_server(TinyBackend(script=CALL.encode()))

    body = in_both_forms(url, {**chat("hi"), "tools": TOOLS, "temperature": 0, "stop": "arg"})

    assert body["choices"][0]["message"]["content"] == '<tool_call>\n{"name": "lookup", "'
    assert body["choices"][0]["finish_reason"] == "stop"


def test_without_tools_the_answer_says_nothing_of_them_and_calls_are_text(start_server) -> None:
    url = start_server(TinyBackend(script=CALL.encode()))

    body = in_both_forms(url, {**chat("hi"), "temperature": 0})

    assert body["choices"][0]["message"] == {"role": "assistant", "content": CALL, "refusal": None}
    assert "tools_rendered" not in body


def test_every_chunk_says_who_told_the_model(start_server) -> None:
    url = start_server(TinyBackend(script=CALL.encode()))
    request = {**chat("hi"), "tools": TOOLS, "temperature": 0, "stream_options": {"include_usage": True}}

    assert {chunk["tools_rendered"] for chunk in chunks(url, request)} == {"template"}


@pytest.mark.parametrize(
    ("script", "called"),
    [(CALL, ["lookup"]), (f"Well: {CALL}\n{OTHER}", ["lookup", "now"]), ("No call.", [])],
)
@pytest.mark.parametrize("stream", [{}, {"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}])
@pytest.mark.parametrize("logprobs", [{}, {"logprobs": True, "top_logprobs": 5}])
def test_answers_with_tools_show_the_monitor_no_quirk(
    start_server, script: str, called: list[str], stream: dict[str, Any], logprobs: dict[str, Any]
) -> None:
    url = start_server(TinyBackend(script=script.encode()))
    request = {**chat("hi"), "tools": TOOLS, "temperature": 0, **stream, **logprobs}

    answer = httpx.post(f"{url}{CHAT}", json=request, timeout=60)
    completion = read(request, endpoint=CHAT, http_status=200, headers=answer.headers, body=answer.content)

    assert completion.quirks == ()
    assert [call.name for call in completion.tool_calls] == called
    assert (completion.logprobs is not None) == bool(logprobs)


def test_the_official_client_streams_calls(start_server) -> None:
    url = start_server(TinyBackend(script=CALL.encode()))

    with (
        OpenAI(base_url=f"{url}/v1", api_key="unused") as client,
        client.chat.completions.stream(**chat("hi"), tools=TOOLS, temperature=0) as stream,
    ):
        final = stream.get_final_completion()

    (call,) = final.choices[0].message.tool_calls or ()
    assert (call.function.name, call.function.arguments) == ("lookup", LOOKUP["arguments"])
    assert call.id.startswith("call_")
    assert final.choices[0].message.content is None
    assert final.choices[0].finish_reason == "tool_calls"


# Held to calls


SHORT_TEMPLATES = {
    "hermes": "{{ messages[-1].content }}{% if tools %}!{% endif %}<tool_call>",
    "llama3": "{{ messages[-1].content }}{% if tools %}!{% endif %}<|python_tag|>",
    "mistral": "{{ messages[-1].content }}{% if tools %}!{% endif %}[TOOL_CALLS]",
}


@pytest.fixture(scope="module")
def marked_engine(tiny_llama: TinyModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The tiny model with the markers of all families as control tokens, which an answer does not show."""
    folder = tmp_path_factory.mktemp("marked") / "model"
    shutil.copytree(tiny_llama.folder, folder)
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens(["[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<tool_call>", "</tool_call>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    engine = load_engine(folder)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def held_urls(marked_engine: Engine, tiny_engine: Engine) -> Iterator[dict[tuple[str, str], str]]:
    with ExitStack() as stack:
        yield {
            (name, family): stack.enter_context(running(engine, ServerSettings(chat_template=template)))
            for name, engine in (("control", marked_engine), ("text", tiny_engine))
            for family, template in SHORT_TEMPLATES.items()
        }


@pytest.mark.parametrize("family", SHORT_TEMPLATES)
@pytest.mark.parametrize("markers", ["control", "text"])
def test_a_required_call_is_made_and_fits_its_tool(
    held_urls: dict[tuple[str, str], str], family: str, markers: str
) -> None:
    request = {**chat("hi"), "tools": [tool("set-unit", UNIT), tool("now", UNIT)], "tool_choice": "required"}

    body = in_both_forms(held_urls[markers, family], {**request, "parallel_tool_calls": False, "seed": 3})

    (call,) = functions(body)
    jsonschema.validate(json.loads(call["arguments"]), UNIT)
    assert call["name"] in ("set-unit", "now")
    assert body["choices"][0]["message"]["content"] is None
    assert body["choices"][0]["finish_reason"] == "tool_calls"


def test_a_named_tool_is_the_one_that_is_called(held_urls: dict[tuple[str, str], str]) -> None:
    choice = {"type": "function", "function": {"name": "now"}}
    request = {**chat("hi"), "tools": [tool("set-unit", UNIT), tool("now", UNIT)], "tool_choice": choice}

    called = {functions(whole(held_urls["control", "hermes"], {**request, "seed": seed}))[0]["name"] for seed in (1, 2)}

    assert called == {"now"}


def test_a_required_call_that_is_cut_is_content(held_urls: dict[tuple[str, str], str]) -> None:
    request = {**chat("hi"), "tools": [tool("now", UNIT)], "tool_choice": "required", "max_tokens": 6, "seed": 1}

    body = in_both_forms(held_urls["control", "hermes"], request)

    assert body["choices"][0]["message"]["content"].startswith("<tool_call>\n{")
    assert body["choices"][0]["finish_reason"] == "length"


@pytest.mark.model
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_weather"}}])
def test_the_bundled_model_is_told_in_hermes_form_and_held_to_a_call(bundled_url: str, choice: Any) -> None:
    parameters = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 30},
            "unit": {"enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city", "unit"],
        "additionalProperties": False,
    }
    request = {
        "model": "m",
        "messages": [{"role": "user", "content": "How warm is it in Oslo, in celsius?"}],
        "tools": [tool("get_weather", parameters)],
        "tool_choice": choice,
        "temperature": 0,
        "max_tokens": 80,
        "logprobs": True,
    }

    body = whole(bundled_url, {**request, "parallel_tool_calls": False})

    (call,) = functions(body)
    jsonschema.validate(json.loads(call["arguments"]), parameters)
    assert call["name"] == "get_weather"
    assert body["tools_rendered"] == "hermes"
    assert body["choices"][0]["finish_reason"] == "tool_calls"
    for entry in body["choices"][0]["logprobs"]["content"]:
        assert entry["masked_logprob"] >= entry["logprob"] - 1e-9
