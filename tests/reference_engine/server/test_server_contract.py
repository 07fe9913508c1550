"""The contract over HTTP: clients at random, many at once, some of whom leave, in front of an engine with little memory
and small passes; every answer has the numbers that a roomy server gives who asks it alone."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from reference_engine.engine import Engine
from reference_engine.server import ServerSettings
from tests.reference_engine.server.conftest import running
from tests.reference_engine.server.test_server_metrics import numbers_of
from tests.reference_engine.test_contract import BEGINNINGS, LITTLE, PROFILES, kernels_run_here, opened
from tests.reference_engine.tiny_models import TinyModel

CHAT, COMPLETIONS, SCORE = "/v1/chat/completions", "/v1/completions", "/v1/score"
WORDS = ("the", "an", "another", "thing", "than", "0123456789")


@dataclass(frozen=True)
class Asked:
    """`leaves_after` so many events of a stream; None stays."""

    path: str
    body: dict[str, Any]
    leaves_after: int | None

    def answer(self, http: httpx.Client) -> Any:
        """What it says, without what is another each time. Of a stream, what each choice was told in turn."""
        if not self.body.get("stream"):
            answer = http.post(self.path, json=self.body)
            assert answer.status_code == 200, answer.text
            return {key: value for key, value in answer.json().items() if key not in ("id", "created")}
        told = defaultdict(list)
        with http.stream("POST", self.path, json=self.body) as stream:
            for count, line in enumerate(line for line in stream.iter_lines() if "{" in line):
                if count == self.leaves_after:
                    break
                (choice,) = json.loads(line.removeprefix("data: "))["choices"]
                told[choice["index"]].append(choice)
        return told


def asked_at_random(rng: random.Random) -> Asked:
    drawn = {"model": "m", "seed": rng.randrange(2**32), "temperature": rng.choice([0, 0.3, 1]), "max_tokens": 40}
    ids = [*rng.choice(BEGINNINGS), *rng.choices(range(2, 10), k=rng.randint(1, 30))]
    match rng.choice(["completion", "stream", "leaver", "prompt", "chat", "score"]):
        case "score":
            return Asked(SCORE, {"prompts": [ids, ids[:7]], "top_k": 5, "token_ids": rng.choice([[], [7]])}, None)
        case "prompt":
            return Asked(COMPLETIONS, {**drawn, "prompt": ids, "prompt_logprobs": 3, "echo": True, "logprobs": 2}, None)
        case "chat":
            messages = [{"role": "user", "content": " ".join(rng.choices(WORDS, k=rng.randint(1, 20)))}]
            return Asked(CHAT, {**drawn, "messages": messages, "logprobs": True, "top_logprobs": 5}, None)
        case kind:
            body = {**drawn, "prompt": [ids, ids[:5]], "n": 2, "logprobs": 5, "stream": kind != "completion"}
            return Asked(COMPLETIONS, body, rng.randrange(20) if kind == "leaver" else None)


@pytest.fixture(scope="module")
def engines(tiny_llama: TinyModel) -> Iterator[tuple[Engine, Engine]]:
    roomy = opened(tiny_llama, threads=1, token_budget=4096)
    cramped = opened(tiny_llama, threads=2, token_budget=24, kv_bytes=LITTLE, draft="ngram", most_drafted=5)
    yield roomy, cramped
    for engine in (roomy, cramped):
        engine.close()
        assert engine.figures().kv_bytes_used == 0


@pytest.mark.parametrize("profile", PROFILES)
def test_every_answer_is_the_one_it_is_alone(engines: tuple[Engine, Engine], profile: str) -> None:
    rng = random.Random(profile)
    many = [asked_at_random(rng) for _ in range(24)]
    with ExitStack() as stack:
        urls = [stack.enter_context(running(engine, ServerSettings(profile=profile))) for engine in engines]
        alone, together = (stack.enter_context(httpx.Client(base_url=url, timeout=300)) for url in urls)
        if alone.get("/health").json()["exactness"] != "bitwise":
            assert not kernels_run_here()
            pytest.skip("torch computes here, and its arithmetic is not bitwise")
        before = numbers_of(urls[1])

        right = [asked.answer(alone) for asked in many if asked.leaves_after is None]
        # How requests meet is the machine's affair: until some had to make room for others.
        while (numbers := numbers_of(urls[1]))["preemptions_total",] == before["preemptions_total",]:
            with ThreadPoolExecutor(len(many)) as clients:
                found = list(clients.map(lambda asked: asked.answer(together), many))
            assert [answer for asked, answer in zip(many, found, strict=True) if asked.leaves_after is None] == right
        while (numbers := numbers_of(urls[1]))["requests_active",] or numbers["sequences_running",]:
            continue
        assert numbers["sequences_waiting",] == 0
        assert numbers["cached_tokens_total",] > before["cached_tokens_total",]


@pytest.mark.parametrize("stream", [False, True])
def test_what_could_never_have_enough_memory_is_refused_with_the_way_out(
    engines: tuple[Engine, Engine], stream: bool
) -> None:
    body = {"model": "m", "prompt": [5] * 300, "max_tokens": 200, "stream": stream}
    with running(engines[1], ServerSettings()) as url:
        answer = httpx.post(f"{url}{COMPLETIONS}", json=body, timeout=60)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "engine_request_invalid")
    assert "--kv-bytes" in answer.json()["error"]["message"]
