"""Scores over HTTP: what the engine says of each position, and what it is asked in error."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.reference_engine.server.tiny_backend import TinyBackend, encode

SCORE = "/v1/score"
PROMPTS = [encode("Bonjour"), encode("say: ")]


def scores_of(http: httpx.Client, **body: Any) -> list[dict[str, Any]]:
    answer = http.post(SCORE, json=body)
    assert answer.status_code == 200, answer.text
    scores: list[dict[str, Any]] = answer.json()["scores"]
    return scores


def test_it_answers_with_what_the_engine_says(http: httpx.Client, backend: TinyBackend) -> None:
    scores = scores_of(http, prompts=PROMPTS, top_k=3, token_ids=[65, 66], start=2)

    assert [score["index"] for score in scores] == [0, 1]
    for score, ids in zip(scores, PROMPTS, strict=True):
        assert score["token_ids"] == ids
        expected = backend.score(ids, start=2, top_k=3, token_ids=[65, 66]).positions
        for shown, position in zip(score["positions"], expected, strict=True):
            assert (shown["index"], shown["token_id"]) == (position.index, position.token_id)
            assert (shown["logprob"], shown["rank"]) == (position.logprob, position.rank)
            assert [tuple(pair) for pair in shown["top"]] == list(position.top)
            assert shown["chosen"] == {str(one): logprob for one, logprob in position.chosen.items()}
            assert shown["tail_mass"] == position.tail_mass
        assert [score["positions"][-1][key] for key in ("index", "token_id", "logprob")] == [len(ids), None, None]


def test_it_says_what_the_numbers_come_from(http: httpx.Client, backend: TinyBackend) -> None:
    answer = http.post(SCORE, json={"prompts": PROMPTS, "model": "org/any"}).json()

    assert answer["object"] == "score"
    assert (answer["model"], answer["profile"], answer["exactness"]) == ("org/any", "fp32", "oracle")
    assert answer["system_fingerprint"] == backend.fingerprint("fp32")
    assert answer["usage"] == {"prompt_tokens": 12, "completion_tokens": 0, "total_tokens": 12}


def test_one_prompt_may_be_text_or_ids_and_nothing_else_need_be_said(http: httpx.Client) -> None:
    by_text, by_ids = scores_of(http, prompt="Bonjour"), scores_of(http, prompt=PROMPTS[0])

    assert by_text == by_ids
    assert [len(position["top"]) for position in by_text[0]["positions"]] == [20] * 8


@pytest.mark.parametrize(
    ("body", "param", "said"),
    [
        ({}, "prompts", "give prompts, or one prompt"),
        ({"prompt": [1], "prompts": [[1]]}, "prompts", "give prompts, or one prompt"),
        ({"prompts": []}, "prompts", "at least 1 item"),
        ({"prompts": [[1]] * 129}, "prompts", "at most 128 items"),
        ({"prompts": [[1], [2, 258]]}, "prompts[1]", "'prompts[1][1]': token id 258 is outside 0..257"),
        ({"prompts": [[1], []]}, "prompts[1]", "holds no token"),
        ({"prompt": [1] * 513}, "prompt", "maximum context length is 512 tokens"),
        ({"prompt": [1], "start": 2}, "start", "it is scored from 0 to 1. Got 2"),
        ({"prompt": [1], "start": -1}, "start", "greater than or equal to 0"),
        ({"prompt": [1], "top_k": 257}, "top_k", "less than or equal to 256"),
        ({"prompt": [1], "top_k": -1}, "top_k", "greater than or equal to 0"),
        ({"prompt": [1], "token_ids": [5, 300]}, "token_ids", "'token_ids[1]': token id 300 is outside 0..257"),
        ({"prompt": [1], "token_ids": [5] * 257}, "token_ids", "at most 256 items"),
        ({"prompts": [[1] * 500] * 8, "top_k": 200}, "prompts", "Ask for fewer prompts"),
        ({"prompt": [1], "stream": True}, "stream", "Unknown parameter"),
    ],
)
def test_a_bad_question_is_named_with_what_would_do(
    lasting_http: httpx.Client, body: dict[str, Any], param: str, said: str
) -> None:
    answer = lasting_http.post(SCORE, json=body)

    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["param"] == param
    assert said in error["message"]
