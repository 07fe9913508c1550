"""The client against servers that never end, and what an error never shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from probes.client import Client
from probes.errors import (
    ProbeError,
)
from probes.plan import Outcome, Sample
from probes.quirks import Quirk
from probes.target import Target
from tests.endpoints import hostile
from tests.endpoints.clock import PatientClock
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.probes.sending import KEY, PROMPT, ask, completion_of, plan, target

# Time limits


def test_a_stream_of_keep_alives_ends_at_the_idle_limit() -> None:
    answers = ask(hostile.keep_alive_for_ever, 40, settings={"idle_timeout_s": 0.15, "timeout_s": 60}, stream=True)

    assert type(answers.failure) is ProbeError
    assert "sent no data for 0.15 s" in answers.failure.message
    (sample,) = answers.samples
    assert sample.outcome is Outcome.TIMEOUT
    assert len(sample.attempts) == 3
    assert sample.attempts[0].body.startswith(b": keep-alive\n\n: keep-alive\n\n")


def test_a_stream_of_empty_events_ends_at_the_total_limit() -> None:
    answers = ask(hostile.pings_for_ever, 40, settings={"idle_timeout_s": 60, "timeout_s": 0.3}, stream=True)

    assert "did not finish within 0.3 s" in answers.failure.message


def test_a_server_that_never_answers_ends_at_the_total_limit() -> None:
    answers = ask(hostile.says_nothing, 40, settings={"timeout_s": 0.2})

    assert "did not finish within 0.2 s" in answers.failure.message
    assert answers.samples[0].attempts[0].http_status is None


def test_a_slow_drip_is_no_idleness() -> None:
    answers = ask(hostile.drip(0.01), settings={"idle_timeout_s": 2, "timeout_s": 600})

    assert answers.only.outcome is Outcome.OK


def test_a_drip_too_slow_ends_at_the_total_limit() -> None:
    answers = ask(hostile.drip(0.05), 40, settings={"idle_timeout_s": 60, "timeout_s": 0.3})

    assert "did not finish within 0.3 s" in answers.failure.message
    assert answers.samples[0].attempts[0].body.startswith(b"{")


def test_an_answer_that_has_ended_is_whole_though_the_connection_stays_open() -> None:
    answers = ask(hostile.done_but_open, settings={"idle_timeout_s": 60, "timeout_s": 60}, stream=True, max_tokens=2)

    completion = completion_of(answers.only)
    assert (completion.content, completion.finish_reason) == ("Rain fell", "length")
    assert len(answers.only.attempts) == 1


def test_a_finished_answer_without_done_is_whole_when_nothing_more_comes() -> None:
    async def unending(received: Received, connection: Connection) -> None:
        await connection.begin()
        choice = {"index": 0, "delta": {"content": "Rain"}, "finish_reason": "stop"}
        await connection.event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]})
        await connection.gone()

    answers = ask(unending, settings={"idle_timeout_s": 0.15}, stream=True)

    completion = completion_of(answers.only)
    assert completion.content == "Rain"
    assert Quirk.SSE_MISSING_DONE in completion.quirks


def test_cancelling_a_run_ends_it_at_once_and_keeps_what_was_done() -> None:
    seen: list[Sample] = []

    async def run(settings: Target) -> None:
        async with Client(settings, clock=PatientClock()) as client:
            sending = asyncio.create_task(client.send(plan(40), on_sample=seen.append))
            while len(seen) < 5:
                await asyncio.sleep(0.01)
            sending.cancel()
            await sending

    with (
        ScriptedServer(hostile.first(5, Lawful(), then=hostile.says_nothing)) as server,
        pytest.raises(asyncio.CancelledError),
    ):
        asyncio.run(run(target(server.base_url)))

    assert [sample.outcome for sample in seen] == [Outcome.OK] * 5


def test_an_error_of_the_caller_is_raised_as_it_is() -> None:
    def full_disk(sample: Sample) -> None:
        if sample.item.key == "item-2":
            raise OSError("no space left")

    async def run(settings: Target) -> None:
        async with Client(settings) as client:
            await client.send(plan(10), on_sample=full_disk)

    with ScriptedServer(Lawful()) as server, pytest.raises(OSError, match="no space left"):
        asyncio.run(run(target(server.base_url)))


# Secrets and prompts


LEAKY: list[Callable[[str], Handler]] = [
    lambda text: hostile.always(400, hostile.error(text)),
    lambda text: hostile.always(422, {"detail": text}),
    lambda text: hostile.always(500, hostile.error(text)),
    lambda text: hostile.always(200, {"error": {"code": 400, "message": text}}),
    lambda text: hostile.always(200, text, content_type="text/html"),
    lambda text: hostile.always(404, hostile.error(text)),
    lambda text: hostile.always(403, hostile.error(text)),
    lambda text: hostile.always(429, hostile.error(text)),
]


@pytest.mark.parametrize("leaky", LEAKY)
def test_no_key_and_no_prompt_reaches_an_error(leaky: Callable[[str], Handler]) -> None:
    answers = ask(leaky(f"You sent {KEY} and <{PROMPT}>\x1b[31m"), 10)

    shown = str(answers.failure) + "".join(
        str(attempt.message) for sample in answers.samples for attempt in sample.attempts
    )
    assert KEY not in shown
    assert "lopsided radishes" not in shown
    assert "\x1b" not in shown
    assert all(KEY.encode() not in attempt.body for sample in answers.samples for attempt in sample.attempts)
    assert all(KEY not in repr(sample) for sample in answers.samples)


def test_a_targets_repr_shows_no_secret() -> None:
    secret = target(f"https://user:{KEY}@api.example/v1?key={KEY}", headers={"X-Key": KEY}, extra_body={"k": KEY})

    assert KEY not in repr(secret) + secret.place
    assert secret.place == "api.example"
    assert KEY not in repr(secret.redactor())
