"""The bundled model over HTTP: what clients get is what the engine says."""

from __future__ import annotations

import httpx
import pytest
from openai import OpenAI

from reference_engine import SamplingParams
from reference_engine.interface import ReferenceBackend
from reference_engine.server import ServerSettings

pytestmark = pytest.mark.model

QUESTION = [{"role": "user", "content": "What is the capital of France? Answer in a few words."}]


def test_a_question_is_answered(bundled_url: str) -> None:
    with OpenAI(base_url=f"{bundled_url}/v1", api_key="unused") as client:
        answer = client.chat.completions.create(model="smol", messages=QUESTION, temperature=0, max_tokens=30)  # type: ignore[arg-type]

    assert "Paris" in (answer.choices[0].message.content or "")
    assert answer.choices[0].finish_reason == "stop"


def test_first_token_alternatives_are_the_engines(bundled_url: str, bundled_engine: ReferenceBackend) -> None:
    body = {"model": "m", "messages": QUESTION, "max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 20}

    answer = httpx.post(f"{bundled_url}/v1/chat/completions", json=body, timeout=120).json()

    ids = bundled_engine.render(QUESTION).ids
    (expected,) = bundled_engine.generate(ids, SamplingParams(max_tokens=1, temperature=0.0, top_k_logprobs=20))
    (entry,) = answer["choices"][0]["logprobs"]["content"]
    assert [bytes(one["bytes"]) for one in entry["top_logprobs"]] == [
        bundled_engine.token_bytes(token_id) for token_id, _ in expected.top
    ]
    assert [one["logprob"] for one in entry["top_logprobs"]] == [logprob for _, logprob in expected.top]
    assert answer["usage"]["prompt_tokens"] == len(ids)


def test_echoed_prompts_carry_the_engines_scores(bundled_url: str, bundled_engine: ReferenceBackend) -> None:
    text = "The quick brown fox jumps over the lazy dog."
    body = {"model": "m", "prompt": text, "max_tokens": 0, "echo": True, "logprobs": 5}

    choice = httpx.post(f"{bundled_url}/v1/completions", json=body, timeout=120).json()["choices"][0]

    scored = bundled_engine.score(bundled_engine.tokenize(text), top_k=5)
    assert choice["text"] == "".join(choice["logprobs"]["tokens"]) == text
    first, *rest = choice["logprobs"]["token_logprobs"]
    assert first is None
    assert rest == [position.logprob for position in scored.positions[1:-1]]


def test_a_hidden_system_prompt_changes_count_and_distribution(start_server, bundled_engine: ReferenceBackend) -> None:
    prompt = "You are a pirate. Answer in pirate speech."
    url = start_server(bundled_engine, ServerSettings(system_prompt=prompt))
    body = {"model": "m", "messages": QUESTION, "max_tokens": 1, "logprobs": True, "top_logprobs": 1, "temperature": 0}

    answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=120).json()

    ids = bundled_engine.render([{"role": "system", "content": prompt}, *QUESTION]).ids
    assert answer["usage"]["prompt_tokens"] == len(ids) != len(bundled_engine.render(QUESTION).ids)
    (expected,) = bundled_engine.generate(ids, SamplingParams(max_tokens=1, temperature=0.0, top_k_logprobs=1))
    assert answer["choices"][0]["logprobs"]["content"][0]["logprob"] == expected.logprob


def test_a_conversation_with_tool_calls_in_it_can_go_on(bundled_url: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    messages = [
        {"role": "user", "content": "Is it warm in Oslo?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "21 degrees"},
    ]
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
    body = {"model": "m", "messages": messages, "tools": tools, "max_tokens": 2}

    answer = httpx.post(f"{bundled_url}/v1/chat/completions", json=body, timeout=120)

    assert answer.status_code == 200, answer.text
