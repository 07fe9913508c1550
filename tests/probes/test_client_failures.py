"""The client against broken servers: retries, limits, and what each kind of broken provider is called."""

from __future__ import annotations

import asyncio

import pytest

from probes.client import Client
from probes.errors import (
    AddressForbiddenError,
    ProbeError,
    ProviderAuthError,
    ProviderProtocolError,
    ProviderQuotaError,
    ProviderRejectedError,
)
from probes.plan import Outcome, Sample
from tests.endpoints import hostile
from tests.endpoints.clock import PatientClock
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Handler, ScriptedServer
from tests.probes.sending import KEY, ask, by_key, keyed_plan, plan, send, target

# Retries


def test_a_server_error_is_retried_and_the_first_attempt_stays() -> None:
    answers = ask(hostile.first(2, hostile.always(503, "overloaded", content_type="text/plain")))

    sample = answers.only
    assert sample.outcome is Outcome.OK
    assert not sample.first_attempt_ok
    assert [attempt.http_status for attempt in sample.attempts] == [503, 503, 200]
    assert [attempt.error for attempt in sample.attempts] == ["provider_unreachable", "provider_unreachable", None]
    assert sample.attempts[0].body == b"overloaded"
    assert [0.5 <= wait < 1.5 for wait in answers.clock.slept[:1]] == [True]
    assert [1.0 <= wait < 3.0 for wait in answers.clock.slept[1:]] == [True]


def test_a_call_that_the_provider_turned_down_itself_is_no_failed_attempt() -> None:
    refused = hostile.error("tool call validation failed: parameters do not match schema", code="tool_use_failed")
    sample = ask(hostile.always(400, refused)).only

    assert (sample.outcome, sample.first_attempt_ok) == (Outcome.OK, True)


@pytest.mark.parametrize("status", [400, 200])
def test_a_form_that_had_to_be_learned_is_no_failed_attempt(status: int) -> None:
    unsupported = hostile.error("Unsupported parameter: 'temperature'", param="temperature", code=400)
    sample = ask(hostile.first(1, hostile.always(status, unsupported)), temperature=0).only

    assert [attempt.http_status for attempt in sample.attempts] == [status, 200]
    assert (len(sample.tries), sample.first_attempt_ok) == (1, True)


def test_a_retry_waits_as_long_as_the_provider_asks() -> None:
    answers = ask(hostile.first(1, hostile.rate_limited("7")))

    assert [attempt.http_status for attempt in answers.only.attempts] == [429, 200]
    assert answers.clock.slept[0] == 7.0


def test_a_retry_after_in_milliseconds_goes_before_one_in_seconds() -> None:
    headers = {"Retry-After": "9", "retry-after-ms": "1500"}
    answers = ask(hostile.first(1, hostile.always(429, hostile.error("slow down"), headers=headers)))

    assert answers.clock.slept[0] == 1.5


def test_a_retry_after_date_is_compared_with_the_servers_own_date() -> None:
    headers = {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT", "Date": "Wed, 21 Oct 2026 07:27:30 GMT"}
    answers = ask(hostile.first(1, hostile.always(429, hostile.error("slow down"), headers=headers)))

    assert answers.clock.slept[0] == 30.0


def test_a_429_inside_a_200_is_retried_too() -> None:
    error = {"error": {"code": 429, "message": "upstream is busy"}}
    answers = ask(hostile.first(1, hostile.always(200, error)))

    first, second = answers.only.attempts
    assert (first.error, second.error) == ("provider_quota", None)


def test_a_reset_and_a_truncated_stream_are_retried() -> None:
    reset = ask(hostile.first(1, hostile.reset_mid_body))
    truncated = ask(hostile.first(1, hostile.truncated_stream), stream=True)

    assert [attempt.http_status for attempt in reset.only.attempts] == [200, 200]
    assert reset.only.attempts[0].body == b'{"id": "chatcmpl-1", "choices": ['
    assert [attempt.error for attempt in truncated.only.attempts] == ["provider_unreachable", None]


def test_one_failed_request_among_good_ones_is_a_sample_and_no_error() -> None:
    broken: Handler = hostile.always(500, hostile.error("boom"))
    with ScriptedServer(by_key("item-3", broken)) as server:
        answers = send(target(server.base_url), keyed_plan(8))

    outcomes = [sample.outcome for sample in answers.samples]
    assert outcomes == [Outcome.OK] * 3 + [Outcome.HTTP_ERROR] + [Outcome.OK] * 4
    assert len(answers.samples[3].attempts) == 3


@pytest.mark.parametrize("broken", [hostile.always(200, "<html>", content_type="text/html"), hostile.always(404, "")])
def test_one_failed_request_at_the_beginning_of_a_later_plan_is_a_sample_too(broken: Handler) -> None:
    async def both(base_url: str) -> list[Sample]:
        async with Client(target(base_url), clock=PatientClock()) as client:
            await client.send(plan(2))
            return await client.send(keyed_plan(4))

    with ScriptedServer(by_key("item-0", broken)) as server:
        samples = asyncio.run(both(server.base_url))

    assert [sample.outcome is Outcome.OK for sample in samples] == [False, True, True, True]


# Providers that cannot be used


def test_a_refused_connection_is_raised_at_once() -> None:
    answers = send(target(hostile.closed_port_url()), plan(40))

    assert type(answers.failure) is ProbeError
    assert "refused the connection" in answers.failure.message
    assert (answers.clock.slept, len(answers.samples)) == ([], 1)


def test_a_provider_that_went_away_is_retried_before_it_counts() -> None:
    with ScriptedServer(Lawful()) as server:
        settings = target(server.base_url)

        async def run() -> list[Sample]:
            clock = PatientClock()
            async with Client(settings, clock=clock) as client:
                await client.send(plan(1))
                await asyncio.to_thread(server.stop)
                with pytest.raises(ProbeError) as caught:
                    await client.send(plan(2))
                return list(caught.value.samples)

        (sample,) = asyncio.run(run())

    assert len(sample.attempts) == 3


def test_a_forbidden_address_is_raised_before_anything_is_sent() -> None:
    with ScriptedServer(Lawful()) as server:
        answers = send(target(server.base_url, allow_private=False), plan())

        assert isinstance(answers.failure, AddressForbiddenError)
        assert "allow_private: true" in answers.failure.remedy
        assert server.connections == 0


def test_a_refused_key_is_raised_without_the_key() -> None:
    answers = ask(hostile.unauthorized, 40)

    assert isinstance(answers.failure, ProviderAuthError)
    assert "Incorrect API key provided: [redacted]." in answers.failure.message
    assert len(answers.samples) == 1
    assert KEY not in str(answers.failure) + repr(answers.samples)
    assert KEY.encode() not in answers.samples[0].attempts[0].body


def test_a_key_that_is_no_header_is_refused_without_being_shown() -> None:
    for key in (f"{KEY}\n", f"{KEY}é", f" {KEY}"):
        with pytest.raises(ProviderAuthError) as caught:
            Client(target("http://127.0.0.1:1/v1", api_key=key))
        assert KEY not in str(caught.value)


def test_a_storm_of_429_is_raised_after_the_first_requests_retries() -> None:
    with ScriptedServer(hostile.rate_limited()) as server:
        answers = send(target(server.base_url), plan(40))

    assert isinstance(answers.failure, ProviderQuotaError)
    assert "limits.rpm" in answers.failure.remedy
    assert (len(server.received), len(answers.samples)) == (3, 1)
    assert answers.samples[0].outcome is Outcome.RATE_LIMITED


def test_a_wait_beyond_the_cap_is_not_sat_out_and_not_cut_short() -> None:
    with ScriptedServer(hostile.rate_limited("3600")) as server:
        answers = send(target(server.base_url), plan(40))

    assert "asks to wait 3600 s" in answers.failure.message
    assert (len(server.received), answers.clock.slept) == (1, [])


def test_a_storm_of_429_in_the_middle_stops_the_run_with_what_was_done() -> None:
    with ScriptedServer(hostile.first(10, Lawful(), then=hostile.rate_limited("1"))) as server:
        answers = send(target(server.base_url, max_concurrency=1), plan(40))

    assert isinstance(answers.failure, ProviderQuotaError)
    assert answers.failure.message.startswith("3 of 13 requests were answered 429; the run stopped early.")
    assert [sample.outcome for sample in answers.samples[:10]] == [Outcome.OK] * 10
    assert answers.seen == answers.samples


def test_now_and_then_a_429_does_not_stop_a_run() -> None:
    answers = ask(hostile.every(6, hostile.rate_limited("1")), 40, settings={"max_concurrency": 1})

    assert {sample.outcome for sample in answers.samples} == {Outcome.OK}


def test_an_account_without_credit_is_raised_at_once() -> None:
    spent = hostile.error("You exceeded your current quota, please check your plan.", code="insufficient_quota")
    for status, body in ((429, spent), (402, hostile.error("Insufficient Balance"))):
        with ScriptedServer(hostile.always(status, body)) as server:
            answers = send(target(server.base_url), plan(40))
        assert isinstance(answers.failure, ProviderQuotaError)
        assert "no credit" in answers.failure.message
        assert len(server.received) == 1


@pytest.mark.parametrize("status", [400, 403, 429])
def test_words_of_the_question_that_an_error_repeats_say_nothing_of_the_account(status: int) -> None:
    prompt = 'Route this:\n[{"kind": "billing"}, {"kind": "flagged"}, {"kind": "credit balance"}]'
    repeating = hostile.always(status, hostile.error(f"Cannot answer {prompt} now.", code=prompt[:50]))

    answers = ask(by_key("item-0", repeating), messages=[{"role": "user", "content": prompt}], user="item-0")

    assert not isinstance(answers.failure, ProviderQuotaError) or "no credit" not in answers.failure.message


def test_an_unknown_model_is_raised_at_once() -> None:
    body = hostile.error("The model `acme/lark-30b` does not exist", code="model_not_found")
    with ScriptedServer(hostile.always(404, body)) as server:
        answers = send(target(server.base_url), plan(40))

    assert isinstance(answers.failure, ProviderRejectedError)
    assert "The model `acme/lark-30b` does not exist" in answers.failure.message
    assert "`name`" in answers.failure.remedy
    assert len(server.received) == 1


@pytest.mark.parametrize("status", [200, 404])
def test_html_is_named_with_its_type_and_its_start(status: int) -> None:
    with ScriptedServer(hostile.html(status)) as server:
        answers = send(target(server.base_url), plan(40))

    assert isinstance(answers.failure, ProviderProtocolError)
    assert f"answers {status} with text/html; charset=utf-8 instead of JSON" in answers.failure.message
    assert "<!doctype html> <html>" in answers.failure.message
    assert "base_url" in answers.failure.remedy
    assert len(server.received) == 1
    assert answers.samples[0].outcome is Outcome.INVALID


def test_json_that_is_no_completion_is_a_protocol_error() -> None:
    answers = ask(hostile.always(200, {"status": "up"}), 40)

    assert isinstance(answers.failure, ProviderProtocolError)
    assert "no `choices`" in answers.failure.message


def test_json_that_breaks_off_is_a_protocol_error() -> None:
    answers = ask(hostile.always(200, '{"id": "chatcmpl-1", "choices": ['), 40)

    assert isinstance(answers.failure, ProviderProtocolError)
    assert "instead of JSON" in answers.failure.message


def test_a_stream_that_never_begins_is_retried() -> None:
    answers = ask(hostile.first(1, hostile.always(200, b"", content_type="text/event-stream")), stream=True)

    assert [attempt.error for attempt in answers.only.attempts] == ["provider_unreachable", None]


def test_an_empty_body_is_a_protocol_error() -> None:
    answers = ask(hostile.always(200, b""), 40)

    assert isinstance(answers.failure, ProviderProtocolError)
    assert "an empty body" in answers.failure.message


def test_a_redirect_is_a_protocol_error_that_names_the_host() -> None:
    answers = ask(hostile.redirect("https://user:hush@api.acme.example/v1/chat?key=hush"), 40)

    assert isinstance(answers.failure, ProviderProtocolError)
    assert "redirects to api.acme.example" in answers.failure.message
    assert "hush" not in str(answers.failure)


def test_a_body_beyond_the_limit_is_a_protocol_error() -> None:
    answers = ask(hostile.huge_body(), 40)

    assert isinstance(answers.failure, ProviderProtocolError)
    assert "more than 8388608 bytes" in answers.failure.message
    (attempt,) = answers.samples[0].attempts
    assert len(attempt.body) == 65536
    assert attempt.body.startswith(b'{"id": "chatcmpl-1"')


def test_server_errors_alone_are_raised_after_three_requests() -> None:
    answers = ask(hostile.always(500, hostile.error("engine is dead")), 40)

    assert type(answers.failure) is ProbeError
    assert "engine is dead" in answers.failure.message
    assert [len(sample.attempts) for sample in answers.samples] == [3, 3, 3]


def test_a_short_run_in_which_nothing_succeeded_is_raised_too() -> None:
    answers = ask(hostile.always(500, hostile.error("engine is dead")), 2)

    assert type(answers.failure) is ProbeError
    assert [sample.outcome for sample in answers.samples] == [Outcome.HTTP_ERROR] * 2


def test_a_rising_error_rate_stops_the_run() -> None:
    broken = hostile.first(12, Lawful(), then=hostile.always(500, hostile.error("engine is dead")))
    with ScriptedServer(broken) as server:
        answers = send(target(server.base_url, max_concurrency=1), plan(40))

    assert "5 of the last 10 requests failed; the run stopped early." in answers.failure.message
    assert len(answers.samples) == 17


def test_a_prompt_refused_by_moderation_is_one_failed_request() -> None:
    refusal = hostile.always(403, hostile.error("Your input was flagged by moderation"))
    with ScriptedServer(by_key("item-0", refusal)) as server:
        answers = send(target(server.base_url), keyed_plan(4))

    assert [sample.outcome for sample in answers.samples] == [Outcome.HTTP_ERROR] + [Outcome.OK] * 3
