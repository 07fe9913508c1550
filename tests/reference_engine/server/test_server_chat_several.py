"""Several answers to one conversation, and the log-probabilities of its prompt."""

from __future__ import annotations

import math
from typing import Any

import httpx
import pytest

from reference_engine.server import ServerSettings
from reference_engine.server.several import seed_of
from tests.reference_engine.server.chat_stream import CHAT, chunks, in_both_forms, whole
from tests.reference_engine.server.tiny_backend import END, TinyBackend, chat, encode

PROMPT = encode("<s>user|hi<e><s>assistant|")


def texts(body: dict[str, Any]) -> list[str]:
    return [choice["message"]["content"] for choice in body["choices"]]


def test_each_choice_is_the_answer_to_its_own_seed(start_server) -> None:
    url = start_server(TinyBackend())
    request = {**chat("hi"), "max_tokens": 20}

    body = in_both_forms(url, {**request, "n": 4, "seed": 7})

    alone = [whole(url, {**request, "seed": seed_of(7, index)}) for index in range(4)]
    assert texts(body) == [texts(one)[0] for one in alone]
    assert len(set(texts(body))) == 4
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2, 3]
    assert body["usage"]["prompt_tokens"] == len(PROMPT)
    assert body["usage"]["completion_tokens"] == sum(one["usage"]["completion_tokens"] for one in alone)


def test_without_a_seed_choices_differ_and_with_the_servers_they_repeat(start_server) -> None:
    free, seeded = start_server(TinyBackend()), start_server(TinyBackend(), ServerSettings(seed=1))
    request = {**chat("hi"), "max_tokens": 20, "n": 3}

    assert len(set(texts(whole(free, request)))) == 3
    assert texts(whole(seeded, request)) == texts(whole(seeded, request))


def test_choices_grow_side_by_side_in_a_stream(start_server) -> None:
    url = start_server(TinyBackend(script=b"a long enough answer"))
    request = {**chat("hi"), "temperature": 0, "n": 3, "stream_options": {"include_usage": True}}

    *found, last = chunks(url, request)

    order = [chunk["choices"][0]["index"] for chunk in found]
    assert set(order) == {0, 1, 2}
    assert max(order.index(index) for index in range(3)) < min(len(order) - order[::-1].index(i) for i in range(3)) - 1
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == 3 * len(b"a long enough answer") + 3


@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_of_one_choice_ends_the_answer(start_server, stream: bool) -> None:
    backend = TinyBackend(script=b"hello", failing_after=3)
    url = start_server(backend)

    answer = httpx.post(f"{url}{CHAT}", json={**chat("hi"), "temperature": 0, "n": 3, "stream": stream}, timeout=60)

    assert "internal_error" in answer.text
    assert "[DONE]" not in answer.text
    while httpx.get(f"{url}/health").json()["active"]:
        continue


def test_a_client_that_leaves_ends_all_choices(start_server) -> None:
    backend = TinyBackend(script=b"z" * 400)
    url = start_server(backend)

    with httpx.stream("POST", f"{url}{CHAT}", json={**chat("hi"), "n": 4, "stream": True, "temperature": 0}) as answer:
        assert next(answer.iter_lines()).startswith("data: ")

    assert backend.abandoned.wait(60)
    while httpx.get(f"{url}/health").json()["active"]:
        continue


def test_prompt_logprobs_have_vllms_names_at_the_top_of_the_answer(start_server) -> None:
    backend = TinyBackend()
    url = start_server(backend)

    body = whole(url, {**chat("hi"), "max_tokens": 1, "prompt_logprobs": 2})

    first, *rest = body["prompt_logprobs"]
    assert first is None
    assert len(rest) == len(PROMPT) - 1
    scored = backend.score(PROMPT, top_k=2)
    for entry, position in zip(rest, scored.positions[1:-1], strict=True):
        own = entry[str(position.token_id)]
        assert own["logprob"] == position.logprob
        assert own["rank"] == position.rank + 1
        assert own["decoded_token"] == backend.token_bytes(position.token_id).decode(errors="replace")
        assert {int(token_id) for token_id in entry} == {position.token_id, *(id_ for id_, _ in position.top)}
        assert all(math.isfinite(one["logprob"]) for one in entry.values())


def test_prompt_logprobs_are_there_only_where_they_were_asked_for(start_server) -> None:
    url = start_server(TinyBackend())

    assert "prompt_logprobs" not in whole(url, {**chat("hi"), "max_tokens": 1})
    assert whole(url, {**chat("hi"), "max_tokens": 1, "prompt_logprobs": 0})["prompt_logprobs"][1].keys() == {"117"}


def test_prompt_logprobs_of_a_prompt_too_long_for_them_are_refused(start_server) -> None:
    url = start_server(TinyBackend(context_length=10**6))

    answer = httpx.post(f"{url}{CHAT}", json={**chat("x" * 25_000), "max_tokens": 1, "prompt_logprobs": 20})

    assert answer.status_code == 400
    assert (answer.json()["error"]["param"], answer.json()["error"]["code"]) == ("prompt_logprobs", "too_many_values")


def test_token_ids_have_vllms_names_whole_and_streamed(start_server) -> None:
    url = start_server(TinyBackend(script="né".encode()))
    request = {**chat("hi"), "temperature": 0, "n": 2, "return_token_ids": True}

    body = whole(url, request)
    found = chunks(url, request)

    assert body["prompt_token_ids"] == PROMPT
    assert [choice["token_ids"] for choice in body["choices"]] == [[*"né".encode(), END]] * 2
    assert [chunk["prompt_token_ids"] for chunk in found if "prompt_token_ids" in chunk] == [PROMPT] * 2
    for index in range(2):
        own = [chunk["choices"][0] for chunk in found if chunk["choices"][0]["index"] == index]
        assert [id_ for choice in own for id_ in choice.get("token_ids", ())] == [*"né".encode(), END]
    assert "token_ids" not in whole(url, chat("hi", max_tokens=1))["choices"][0]
