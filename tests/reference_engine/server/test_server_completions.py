"""Completions in their legacy shape, asked with the official client."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from openai import OpenAI

from tests.reference_engine.server.tiny_backend import END, START, TinyBackend, encode

SCRIPT = "Bonjour, né à 5 € 😀."


def test_it_continues_a_prompt(client: OpenAI) -> None:
    answer = client.completions.create(model="m", prompt="say: ", temperature=0, max_tokens=100)

    assert answer.object == "text_completion"
    assert answer.id.startswith("cmpl-")
    assert answer.choices[0].text == SCRIPT
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (5, len(SCRIPT.encode()) + 1)


def test_sixteen_tokens_are_the_default(client: OpenAI) -> None:
    answer = client.completions.create(model="m", prompt="say: ", temperature=0)

    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 16


def test_token_ids_read_like_their_text(client: OpenAI) -> None:
    by_text, by_ids = (
        client.completions.create(model="m", prompt=prompt, temperature=0, max_tokens=5, logprobs=3)
        for prompt in ("a<s>b", [ord("a"), START, ord("b")])
    )

    assert by_text.choices == by_ids.choices
    assert by_text.usage == by_ids.usage


@pytest.mark.parametrize("prompts", [["say: ", "Bonj"], [encode("say: "), encode("Bonj")]])
def test_each_prompt_of_a_list_gets_its_choice(client: OpenAI, prompts: Any) -> None:
    answer = client.completions.create(model="m", prompt=prompts, temperature=0, max_tokens=100)

    assert [(choice.index, choice.text) for choice in answer.choices] == [(0, SCRIPT), (1, SCRIPT[4:])]
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 9


def test_a_stream_of_several_prompts_joins_to_the_same_choices(client: OpenAI) -> None:
    stream = client.completions.create(
        model="m",
        prompt=["say: ", "Bonj"],
        temperature=0,
        max_tokens=100,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)

    texts = {0: "", 1: ""}
    for chunk in chunks[:-1]:
        texts[chunk.choices[0].index] += chunk.choices[0].text
    assert texts == {0: SCRIPT, 1: SCRIPT[4:]}
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]].count("stop") == 2
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 9


def test_logprobs_have_the_legacy_shape_and_the_references_values(client: OpenAI, backend: TinyBackend) -> None:
    answer = client.completions.create(model="m", prompt="say: ", temperature=0, max_tokens=3, logprobs=20)

    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.tokens == ["B", "o", "n"]
    assert logprobs.text_offset == [0, 1, 2]
    expected = backend.next_tokens([encode("say: ")])[0].top
    assert (logprobs.token_logprobs or [])[0] == expected[0][1]
    assert list((logprobs.top_logprobs or [])[0].values()) == [logprob for _, logprob in expected]


def test_bytes_that_are_no_text_keep_names_of_their_own(client: OpenAI) -> None:
    answer = client.completions.create(model="m", prompt="Bonjour, n", temperature=0, max_tokens=3, logprobs=0)

    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.tokens == ["bytes:\\xc3", "bytes:\\xa9", " "]
    assert logprobs.text_offset == [0, 0, 1]
    assert answer.choices[0].text == "é "


def test_the_sampled_token_is_always_among_the_alternatives(start_server) -> None:
    url = start_server(TinyBackend())
    body = {"model": "m", "prompt": "say: ", "max_tokens": 40, "logprobs": 1, "temperature": 2, "seed": 5}

    logprobs = httpx.post(f"{url}/v1/completions", json=body).json()["choices"][0]["logprobs"]

    assert any(len(top) == 2 for top in logprobs["top_logprobs"])
    rows = zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"], strict=True)
    assert all(top[token] == value for token, value, top in rows)


def test_echo_scores_the_prompt_without_generating(client: OpenAI, backend: TinyBackend) -> None:
    prompt = "Bonjour"

    answer = client.completions.create(model="m", prompt=prompt, max_tokens=0, echo=True, logprobs=2)

    choice = answer.choices[0]
    assert (choice.text, choice.finish_reason) == (prompt, "length")
    assert choice.logprobs is not None
    assert choice.logprobs.tokens == list(prompt)
    assert choice.logprobs.token_logprobs is not None
    assert choice.logprobs.token_logprobs[0] is None
    scored = backend.score(encode(prompt), top_k=2)
    assert choice.logprobs.token_logprobs[1:] == [position.logprob for position in scored.positions[1:-1]]
    assert choice.logprobs.text_offset == list(range(len(prompt)))
    assert backend.prefills == 0
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (7, 0)


@pytest.mark.parametrize("stream", [False, True])
def test_echo_goes_on_into_the_answer(http: httpx.Client, stream: bool) -> None:
    body = {"model": "m", "prompt": "Bon", "max_tokens": 4, "echo": True, "logprobs": 1, "temperature": 0}
    if stream:
        lines = http.post("/v1/completions", json={**body, "stream": True}).text.split("\n\n")
        choices = [httpx.Response(200, text=line[6:]).json()["choices"][0] for line in lines if "{" in line]
    else:
        choices = http.post("/v1/completions", json=body).json()["choices"]

    assert "".join(choice["text"] for choice in choices) == "Bonjour"
    shapes = [choice["logprobs"] for choice in choices if choice["logprobs"]]
    assert [offset for shape in shapes for offset in shape["text_offset"]] == list(range(7))
    assert [value is None for shape in shapes for value in shape["token_logprobs"]] == [True] + [False] * 6


def test_echo_without_logprobs_repeats_the_text(client: OpenAI) -> None:
    answer = client.completions.create(model="m", prompt=[START, ord("h"), END], max_tokens=0, echo=True)

    assert answer.choices[0].text == "<s>h<e>"
    assert answer.choices[0].logprobs is None
