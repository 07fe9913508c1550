"""The fields of vLLM that a completion may ask for, and several answers to one prompt."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from openai import OpenAI

from reference_engine.interface import SamplingParams
from reference_engine.server.several import seed_of
from tests.reference_engine.server.tiny_backend import TinyBackend, encode

COMPLETIONS = "/v1/completions"


def choices_of(http: httpx.Client, **body: Any) -> list[dict[str, Any]]:
    answer = http.post(COMPLETIONS, json={"model": "m", **body})
    assert answer.status_code == 200, answer.text
    choices: list[dict[str, Any]] = answer.json()["choices"]
    return choices


@pytest.mark.parametrize("top_k", [0, 3])
def test_prompt_logprobs_have_vllms_form_and_the_references_values(
    http: httpx.Client, backend: TinyBackend, top_k: int
) -> None:
    ids = encode("Bon é")

    (choice,) = choices_of(http, prompt=ids, max_tokens=1, prompt_logprobs=top_k)

    first, *rest = choice["prompt_logprobs"]
    assert first is None
    for found, position in zip(rest, backend.score(ids, top_k=top_k).positions[1:-1], strict=True):
        own = found[str(position.token_id)]
        assert (own["logprob"], own["rank"]) == (position.logprob, (position.rank or 0) + 1)
        assert [found[str(token_id)]["logprob"] for token_id, _ in position.top] == [value for _, value in position.top]
        assert set(found) == {str(one) for one in (position.token_id, *dict(position.top))}
        assert all(
            value["decoded_token"] == backend.token_bytes(int(key)).decode(errors="replace")
            for key, value in found.items()
        )


def test_a_prompt_can_be_scored_without_generating(http: httpx.Client, backend: TinyBackend) -> None:
    choices = choices_of(http, prompt=["Bon", "jour"], max_tokens=0, prompt_logprobs=1)

    assert [len(choice["prompt_logprobs"]) for choice in choices] == [3, 4]
    assert [(choice["text"], choice["finish_reason"]) for choice in choices] == [("", "length")] * 2
    assert backend.prefills == 0


def test_token_ids_are_returned_whole_and_in_a_stream(http: httpx.Client) -> None:
    body = {"model": "m", "prompt": ["Bon", "Bonj"], "temperature": 0, "max_tokens": 4, "return_token_ids": True}

    whole = http.post(COMPLETIONS, json=body).json()["choices"]
    events = http.post(COMPLETIONS, json={**body, "stream": True}).text.split("\n\n")
    chunks = [json.loads(event[6:])["choices"][0] for event in events if "{" in event]

    for index, (prompt, answer) in enumerate([("Bon", "jour"), ("Bonj", "our,")]):
        assert (whole[index]["prompt_token_ids"], whole[index]["token_ids"]) == (encode(prompt), encode(answer))
        own = [chunk for chunk in chunks if chunk["index"] == index]
        assert [chunk["prompt_token_ids"] for chunk in own if "prompt_token_ids" in chunk] == [encode(prompt)]
        assert [token_id for chunk in own for token_id in chunk.get("token_ids", ())] == encode(answer)


def test_n_answers_to_each_prompt_have_seeds_of_their_own(start_server) -> None:
    backend = TinyBackend()
    url = start_server(backend)

    with OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:
        answer = client.completions.create(model="m", prompt=["a", "b"], n=3, seed=7, max_tokens=8)

    expected = [
        "".join(
            token.text
            for token in backend.generate(encode(prompt), SamplingParams(max_tokens=8, seed=seed_of(7, index)))
        )
        for prompt in "ab"
        for index in range(3)
    ]
    assert [choice.text for choice in answer.choices] == expected
    assert len(set(expected)) == 6
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 2


def test_seeds_of_further_answers_are_the_ones_that_were_promised() -> None:
    assert seed_of(7, 0) == 7
    assert seed_of(None, 3) is None
    assert [seed_of(7, 1), seed_of(7, 2), seed_of(-1, 1)] == [
        7768823104508221553,
        5100134965559581830,
        6851615798367368562,
    ]
    assert all(0 <= (seed_of(seed, 1) or 0) < 2**63 for seed in range(100))


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"n": 0}, "n"),
        ({"n": 129}, "n"),
        ({"n": 65, "prompt": ["a", "b"]}, "n"),
        ({"prompt_logprobs": 21}, "prompt_logprobs"),
        ({"prompt_logprobs": -1}, "prompt_logprobs"),
        ({"prompt_logprobs": 1, "stream": True}, "prompt_logprobs"),
        ({"return_token_ids": 1}, "return_token_ids"),
        ({"prompt": [[65] * 400] * 60, "prompt_logprobs": 20}, "prompt"),
        ({"prompt": [[65] * 400] * 10, "n": 6, "echo": True, "logprobs": 20}, "prompt"),
    ],
)
def test_a_bad_value_is_named(lasting_http: httpx.Client, change: dict[str, Any], param: str) -> None:
    answer = lasting_http.post(COMPLETIONS, json={"model": "m", "prompt": "hi", **change})

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
