"""Chat completions, asked with the official client."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest
from openai import AsyncOpenAI, OpenAI

from reference_engine.server import ServerSettings
from tests.reference_engine.server.tiny_backend import END, TinyBackend, chat, encode

SCRIPT = "Bonjour, né à 5 € 😀."


def test_it_answers_with_the_models_text_and_exact_usage(client: OpenAI) -> None:
    answer = client.chat.completions.create(**chat("hi", temperature=0))

    assert answer.choices[0].message.content == SCRIPT
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == len(encode("<s>user|hi<e><s>assistant|"))
    assert answer.usage.completion_tokens == len(SCRIPT.encode()) + 1
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_the_envelope_names_model_time_and_fingerprint(client: OpenAI, backend: TinyBackend) -> None:
    first, second = (client.chat.completions.create(**chat("hi", max_tokens=1)) for _ in range(2))

    assert re.fullmatch(r"chatcmpl-[0-9a-f]{24}", first.id)
    assert first.id != second.id
    assert (first.object, first.model) == ("chat.completion", "m")
    assert first.system_fingerprint == backend.fingerprint("fp32")
    assert isinstance(first.created, int)


def test_a_stream_joins_to_the_same_answer(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        **chat("hi", temperature=0, stream=True, stream_options={"include_usage": True})
    )
    chunks = list(stream)

    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == SCRIPT
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 2) + ["stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == len(SCRIPT.encode()) + 1
    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}


def test_usage_is_not_in_a_stream_that_did_not_ask(http: httpx.Client) -> None:
    body = http.post("/v1/chat/completions", json=chat("hi", temperature=0, stream=True)).text

    assert "usage" not in body
    assert body.endswith("data: [DONE]\n\n")


def test_an_event_stream_says_so_in_its_headers(http: httpx.Client) -> None:
    answer = http.post("/v1/chat/completions", json=chat("hi", max_tokens=1, stream=True))

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"


def test_logprobs_are_the_references_own(client: OpenAI, backend: TinyBackend) -> None:
    answer = client.chat.completions.create(**chat("hi", max_tokens=1, temperature=0, logprobs=True, top_logprobs=20))
    expected = backend.next_tokens([encode("<s>user|hi<e><s>assistant|")])[0].top

    assert answer.choices[0].logprobs is not None
    (entry,) = answer.choices[0].logprobs.content or []
    assert [(bytes(one.bytes or ()), one.logprob) for one in entry.top_logprobs] == [
        (backend.token_bytes(token_id), logprob) for token_id, logprob in expected
    ]
    assert (entry.token, entry.bytes, entry.logprob) == ("B", [ord("B")], expected[0][1])


def test_logprobs_are_raw_whatever_the_temperature(client: OpenAI) -> None:
    cold, hot = (
        client.chat.completions.create(
            **chat("hi", max_tokens=1, logprobs=True, top_logprobs=5, temperature=t, top_p=p, seed=3)
        )
        for t, p in ((0, 1.0), (2.0, 0.5))
    )

    tops = [(answer.choices[0].logprobs.content or [])[0].top_logprobs for answer in (cold, hot)]  # type: ignore[union-attr]
    assert [one.logprob for one in tops[0]] == [one.logprob for one in tops[1]]


def test_a_split_character_has_exact_bytes_and_no_text_of_its_own(client: OpenAI) -> None:
    chunks = list(client.chat.completions.create(**chat("hi", temperature=0, logprobs=True, stream=True)))

    entries = [entry for chunk in chunks for entry in getattr(chunk.choices[0].logprobs, "content", None) or []]
    assert b"".join(bytes(entry.bytes or ()) for entry in entries) == SCRIPT.encode() + b"<e>"
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].logprobs is not None]
    assert len(texts) == len(entries)
    assert "\ufffd" not in "".join(text or "" for text in texts)


def test_an_answer_cut_inside_a_character_holds_whole_characters(client: OpenAI) -> None:
    cut = len(b"Bonjour, n") + 1

    answer = client.chat.completions.create(**chat("hi", temperature=0, max_tokens=cut))

    assert answer.choices[0].message.content == "Bonjour, n"
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == cut


@pytest.mark.parametrize("stop", [", n", [", n", "5"], ["zzz", ", n"]])
def test_stop_strings_end_the_text_and_are_not_in_it(client: OpenAI, stop: str | list[str]) -> None:
    answer = client.chat.completions.create(**chat("hi", temperature=0, stop=stop))

    assert answer.choices[0].message.content == "Bonjour"
    assert answer.choices[0].finish_reason == "stop"


def test_a_seed_repeats_an_answer_and_another_changes_it(start_server, client: OpenAI) -> None:
    url = start_server(TinyBackend())
    with OpenAI(base_url=f"{url}/v1", api_key="unused") as noisy:
        texts = [
            noisy.chat.completions.create(**chat("hi", seed=seed, max_tokens=30)).choices[0].message.content
            for seed in (7, 7, 8)
        ]

    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_the_servers_seed_serves_requests_without_one(start_server) -> None:
    url = start_server(TinyBackend(), ServerSettings(seed=7))

    texts = {
        httpx.post(f"{url}/v1/chat/completions", json=chat("hi", max_tokens=30, **more)).json()["choices"][0][
            "message"
        ]["content"]
        for more in ({}, {}, {"seed": 7})
    }

    assert len(texts) == 1


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_both_names_of_the_answer_limit_work(client: OpenAI, name: str) -> None:
    answer = client.chat.completions.create(**chat("hi", temperature=0, **{name: 3}))

    assert answer.choices[0].message.content == "Bon"


def test_one_token_costs_one_prefill_and_one_step(client: OpenAI, backend: TinyBackend) -> None:
    client.chat.completions.create(**chat("hi", max_tokens=1, logprobs=True, top_logprobs=20))

    assert (backend.prefills, len(backend.steps)) == (1, 1)


def _prompt_tokens(url: str, messages: list[dict[str, object]], **more: object) -> int:
    body = {"model": "m", "messages": messages, "max_tokens": 1, **more}
    answer = httpx.post(f"{url}/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["usage"]["prompt_tokens"])


def test_text_parts_read_like_the_string_they_make(url: str) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]

    assert _prompt_tokens(url, [{"role": "user", "content": parts}]) == _prompt_tokens(
        url, [{"role": "user", "content": "onetwo"}]
    )


def test_developer_messages_are_system_messages(url: str) -> None:
    user = {"role": "user", "content": "hi"}

    assert _prompt_tokens(url, [{"role": "developer", "content": "x"}, user]) == _prompt_tokens(
        url, [{"role": "system", "content": "x"}, user]
    )


def test_tools_and_earlier_calls_reach_the_template_with_decoded_arguments(url: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"q": "abc"}'}}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]
    tools = [{"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}]

    rendered = "<s>user|hi<e><s>assistant|abc<e><s>tool|42<e><s>tool lookup<e><s>assistant|"
    assert _prompt_tokens(url, messages, tools=tools) == len(encode(rendered))


def test_a_hidden_system_prompt_is_counted_and_gives_way_to_the_clients_own(start_server) -> None:
    url = start_server(TinyBackend(), ServerSettings(system_prompt="Be brief."))

    user = {"role": "user", "content": "hi"}
    assert _prompt_tokens(url, [user]) == len(encode("<s>system|Be brief.<e><s>user|hi<e><s>assistant|"))
    own = [{"role": "system", "content": "x"}, user]
    assert _prompt_tokens(url, own) == len(encode("<s>system|x<e><s>user|hi<e><s>assistant|"))


def test_a_chat_template_of_the_operators_replaces_the_models(start_server) -> None:
    url = start_server(TinyBackend(), ServerSettings(chat_template="{{ messages[0].content }}!"))

    assert _prompt_tokens(url, [{"role": "user", "content": "hi"}]) == len("hi!")


def test_the_async_client_is_served_side_by_side(url: str) -> None:
    async def ask_all() -> list[str | None]:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:

            async def ask() -> str | None:
                answer = await client.chat.completions.create(**chat("hi", temperature=0))
                return answer.choices[0].message.content

            return list(await asyncio.gather(*(ask() for _ in range(20))))

    assert asyncio.run(ask_all()) == [SCRIPT] * 20


def test_an_answer_that_ends_at_once_has_one_token_with_its_logprob(start_server) -> None:
    class Silent(TinyBackend):
        def _scripted(self, ids) -> int:
            return END

    url = start_server(Silent(script=b"x"))
    body = httpx.post(f"{url}/v1/chat/completions", json=chat("hi", temperature=0, logprobs=True)).json()

    assert body["choices"][0]["message"]["content"] == ""
    assert body["choices"][0]["finish_reason"] == "stop"
    assert [entry["bytes"] for entry in body["choices"][0]["logprobs"]["content"]] == [list(b"<e>")]
    assert body["usage"]["completion_tokens"] == 1
