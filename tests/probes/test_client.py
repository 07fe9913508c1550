"""The client against real servers: what it sends, what it brings back, at what pace, and what it learns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from probes.capabilities import Capabilities
from probes.client import Client
from probes.errors import (
    ProviderAuthError,
    ProviderProtocolError,
    ProviderRejectedError,
)
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample
from probes.target import Target
from tests.endpoints import hostile
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.probes.sending import KEY, PROMPT, ask, completion_of, plan, send, target

# What is sent


def test_a_request_names_the_model_and_carries_key_headers_and_extra_body() -> None:
    settings = {"headers": {"X-Title": "Weekly check"}, "extra_body": {"provider": {"order": ["deepinfra/fp8"]}}}
    with ScriptedServer(Lawful()) as server:
        send(target(server.base_url, **settings), plan())

    (received,) = server.received
    assert (received.method, received.path) == ("POST", "/v1/chat/completions")
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["x-title"] == "Weekly check"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["user-agent"].startswith("python-httpx/")
    assert received.json == {
        "model": "acme/lark-30b",
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": 1,
        "temperature": 0,
        "stream": False,
        "provider": {"order": ["deepinfra/fp8"]},
    }


def test_without_a_key_no_authorization_is_sent() -> None:
    with ScriptedServer(Lawful()) as server:
        send(target(server.base_url, api_key=None), plan())

    assert "authorization" not in server.received[0].headers


def test_text_prompts_go_to_completions_and_a_query_of_the_base_url_is_kept() -> None:
    request = Item("text", 0, {"prompt": "Fowey is a", "max_tokens": 1}, endpoint="/v1/completions")
    answer = {"id": "cmpl-1", "object": "text_completion", "choices": [{"text": " town", "finish_reason": "length"}]}
    with ScriptedServer(hostile.always(200, answer)) as server:
        base_url = server.base_url.replace("/v1", "/openai/deployments/lark/?api-version=2024-10-21")
        answers = send(target(base_url), Plan(ProbeKind.LOGPROBS, (request,), "0" * 64, "1"))

    assert server.received[0].path == "/openai/deployments/lark/completions?api-version=2024-10-21"
    assert completion_of(answers.only).text == " town"


# What comes back


def test_a_sample_holds_the_completion_the_raw_body_and_the_request_as_sent() -> None:
    answers = ask(Lawful(), logprobs=True, top_logprobs=3)

    sample = answers.only
    completion = completion_of(sample)
    (attempt,) = sample.attempts
    assert sample.outcome is Outcome.OK
    assert sample.first_attempt_ok
    assert completion.content == "Rain"
    assert completion.logprobs is not None
    assert [alternative.token for alternative in completion.logprobs[0].top or ()] == ["Rain", " other1", " other2"]
    assert json.loads(attempt.body)["choices"][0]["message"]["content"] == "Rain"
    assert (attempt.http_status, attempt.error, attempt.sent_at) == (200, None, answers.clock.now())
    assert attempt.headers["content-type"] == "application/json"
    assert sample.request["model"] == "acme/lark-30b"


def test_samples_come_in_the_order_of_the_plan_and_are_seen_as_they_are_done() -> None:
    answers = ask(Lawful(), 25)

    assert [sample.item.key for sample in answers.samples] == [f"item-{number}" for number in range(25)]
    assert sorted(answers.seen, key=lambda sample: int(sample.item.key[5:])) == answers.samples


def test_an_empty_plan_brings_no_samples() -> None:
    assert ask(Lawful(), 0).samples == []


def test_a_stream_is_read_event_by_event_with_arrival_times() -> None:
    answers = ask(Lawful(), stream=True, stream_options={"include_usage": True}, max_tokens=4)

    completion = completion_of(answers.only)
    timings = completion.timings
    assert completion.content == "Rain fell on the"
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 4
    assert len(timings.chunks) == 4
    assert timings.headers is not None
    assert timings.first_output is not None
    assert timings.done is not None
    assert 0 <= timings.headers <= timings.first_output <= timings.done


def test_a_stream_leaves_its_connection_for_the_next() -> None:
    with ScriptedServer(Lawful()) as server:
        send(target(server.base_url, max_concurrency=1), plan(5, stream=True))

    assert server.connections == 1


def test_only_allowed_response_headers_are_kept() -> None:
    headers = {
        "Server": "scripted",
        "X-Request-Id": "req-1",
        "x-ratelimit-remaining-requests": "59",
        "openai-processing-ms": "12",
        "openai-organization": "acme-inc",
        "Set-Cookie": "session=secret",
        "X-Unheard-Of": "1",
        "Via": f"proxy {KEY}",
    }
    answers = ask(hostile.always(200, Lawful().whole({}), headers=headers))

    kept = dict(answers.only.attempts[0].headers)
    assert kept.pop("content-length").isdigit()
    assert kept == {
        "content-type": "application/json",
        "server": "scripted",
        "x-request-id": "req-1",
        "x-ratelimit-remaining-requests": "59",
        "openai-processing-ms": "12",
        "via": "proxy [redacted]",
    }


def test_the_content_type_does_not_matter_where_the_body_is_an_answer() -> None:
    answers = ask(hostile.always(200, Lawful().whole({"max_tokens": 1}), content_type="text/plain"))

    assert answers.only.outcome is Outcome.OK


# Pace


def test_no_more_requests_are_under_way_than_allowed() -> None:
    waiting: list[Connection] = []

    async def in_threes(received: Received, connection: Connection) -> None:
        """Answers the first request alone, and then three whenever three wait."""
        waiting.append(connection)
        if len(server.received) == 1 or len(waiting) == 3:
            for other in waiting:
                await other.reply(200, Lawful().whole(received.json))
            waiting.clear()

    with ScriptedServer(in_threes) as server:
        answers = send(target(server.base_url, max_concurrency=3), plan(10))

    assert len(answers.samples) == 10
    assert server.connections == 3


def test_latency_streams_run_one_at_a_time() -> None:
    with ScriptedServer(Lawful()) as server:
        send(target(server.base_url, max_concurrency=8), plan(6, probe=ProbeKind.LATENCY, stream=True))

    assert server.most_in_flight == 1


def test_rpm_spaces_requests_evenly() -> None:
    answers = ask(Lawful(), 4, settings={"rpm": 30, "max_concurrency": 1})

    assert [round(wait) for wait in answers.clock.slept] == [2, 2, 2]


# Learning


def test_a_refused_form_is_learned_and_sent_again_at_once() -> None:
    picky = hostile.picky(
        hostile.wants_max_completion_tokens,
        hostile.wants_16_tokens,
        hostile.wants_no_temperature,
        hostile.wants_5_top_logprobs,
    )
    with ScriptedServer(picky) as server:
        answers = send(target(server.base_url, max_concurrency=8), plan(20, logprobs=True, top_logprobs=20))

    assert {sample.outcome for sample in answers.samples} == {Outcome.OK}
    assert [len(sample.attempts) for sample in answers.samples] == [5] + [1] * 19
    assert len(server.received) == 24
    assert answers.clock.slept == []
    assert answers.capabilities == Capabilities(
        token_limit_parameter="max_completion_tokens",
        refused_limits=frozenset({"max_tokens"}),
        min_max_tokens=16,
        max_top_logprobs=5,
        logprobs=True,
        unsupported=frozenset({"temperature"}),
    )
    assert answers.samples[0].request == {
        "model": "acme/lark-30b",
        "messages": [{"role": "user", "content": PROMPT}],
        "max_completion_tokens": 16,
        "logprobs": True,
        "top_logprobs": 5,
        "stream": False,
    }


def test_a_learning_attempt_is_kept_and_is_no_failure() -> None:
    answers = ask(hostile.picky(hostile.wants_no_temperature))

    taught, accepted = answers.only.attempts
    assert (taught.http_status, taught.error, accepted.http_status) == (400, None, 200)
    assert b"temperature" in taught.body


def test_what_is_known_costs_no_refusal() -> None:
    known = Capabilities(unsupported=frozenset({"temperature"}))
    with ScriptedServer(hostile.picky(hostile.wants_no_temperature)) as server:
        send(target(server.base_url), plan(3), capabilities=known)

    assert len(server.received) == 3


def test_an_endpoint_without_logprobs_is_remembered() -> None:
    refusing = ask(hostile.picky(hostile.wants_no_logprobs), logprobs=True, top_logprobs=20)
    ignoring = ask(hostile.always(200, Lawful().whole({"max_tokens": 1})), logprobs=True, top_logprobs=20)

    assert refusing.only.outcome is Outcome.OK
    assert refusing.capabilities.logprobs is False
    assert "logprobs" not in refusing.only.request
    assert ignoring.capabilities.logprobs is False
    assert "logprobs" not in ignoring.capabilities.unsupported


def test_requests_under_way_when_one_learns_are_sent_again() -> None:
    """Four of five fail together; each is a request that one taught form serves."""
    waiting: list[tuple[Received, Connection]] = []

    async def all_at_once(received: Received, connection: Connection) -> None:
        if "temperature" not in received.json or len(server.received) == 1:
            await Lawful()(received, connection)
            return
        waiting.append((received, connection))
        if len(waiting) == 4:
            for _, other in waiting:
                await other.reply(400, hostile.error("Unknown parameter: temperature", param="temperature"))

    with ScriptedServer(all_at_once) as server:
        answers = send(target(server.base_url, max_concurrency=4), plan(5))

    assert [len(sample.attempts) for sample in answers.samples] == [1, 2, 2, 2, 2]
    assert {sample.outcome for sample in answers.samples} == {Outcome.OK}


def test_an_endpoint_that_is_never_content_is_not_asked_for_ever() -> None:
    bound = 1

    def moody(request: Mapping[str, Any]) -> tuple[int, Any]:
        nonlocal bound
        bound += 1
        return 400, hostile.error(f"max_tokens must be at least {bound}", param="max_tokens")

    with ScriptedServer(hostile.picky(moody)) as server:
        answers = send(target(server.base_url), plan(40))

    assert isinstance(answers.failure, ProviderRejectedError)
    assert len(server.received) == 9


def test_a_refusal_that_names_nothing_is_raised_after_three_requests() -> None:
    with ScriptedServer(hostile.always(400, hostile.error("Bad request"))) as server:
        answers = send(target(server.base_url), plan(40))

    assert isinstance(answers.failure, ProviderRejectedError)
    assert "refuses the request with 400 (it says: 'Bad request')" in answers.failure.message
    assert len(server.received) == 3


# The list of models


def models(handler: Handler) -> list[str]:
    async def run(settings: Target) -> list[str]:
        async with Client(settings) as client:
            return await client.models()

    with ScriptedServer(handler) as server:
        return asyncio.run(run(target(server.base_url)))


def test_the_models_of_an_endpoint_are_listed() -> None:
    assert models(Lawful(model="acme/lark-30b")) == ["acme/lark-30b"]
    assert models(hostile.always(200, '[{"id": "a"}, "b", {"id": 7}]')) == ["a", "b"]
    assert models(hostile.always(200, {"models": [{"name": "c"}]})) == ["c"]


def test_an_endpoint_without_a_list_of_models_says_so() -> None:
    bodies: list[Any] = [{"data": []}, '["', "{}"]
    for body in bodies:
        with pytest.raises(ProviderProtocolError, match="/models"):
            models(hostile.always(200, body))
    with pytest.raises(ProviderAuthError):
        models(hostile.unauthorized)
    with pytest.raises(ProviderProtocolError, match="text/html"):
        models(hostile.html())


def test_samples_that_are_passed_on_are_those_that_are_sent() -> None:
    passed: list[Sample] = []

    async def send(base_url: str) -> list[Sample]:
        async with Client(target(base_url)) as client:
            await client.pass_on(plan(5), passed.append)
            return await client.send(plan(5))

    with ScriptedServer(Lawful()) as server:
        sent = asyncio.run(send(server.base_url))

    assert sorted(sample.item.key for sample in passed) == [sample.item.key for sample in sent]
    assert all(sample.completion is not None for sample in passed)
