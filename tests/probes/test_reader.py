from __future__ import annotations

import json
from typing import Any

import pytest

from probes.completion import Completion, Endpoint, Usage
from probes.quirks import Disposition, Quirk
from probes.reader import AnswerReader, read

CHAT: Endpoint = "/v1/chat/completions"
SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


def chunk(delta: dict[str, Any], finish: str | None = None, **top: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **top})


def event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def body(message: dict[str, Any] | None = None, **top: Any) -> bytes:
    choice = {"index": 0, "message": message or {"role": "assistant", "content": "Fowey"}, "finish_reason": "stop"}
    return json.dumps({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], **top}).encode()


def usage(completion_tokens: int) -> dict[str, Any]:
    return {"prompt_tokens": 10, "completion_tokens": completion_tokens, "total_tokens": 10 + completion_tokens}


def reader(request: dict[str, Any] | None = None, status: int = 200, headers: dict[str, str] = SSE) -> AnswerReader:
    return AnswerReader(request or {"model": "m", "stream": True}, endpoint=CHAT, http_status=status, headers=headers)


def read_body(content: bytes, status: int = 200, headers: dict[str, str] = JSON) -> Completion:
    return read({"model": "m"}, endpoint=CHAT, http_status=status, headers=headers, body=content)


def test_times_are_those_of_the_pieces_that_completed_an_event() -> None:
    answer = reader()
    answer.feed(b": ping\n\n", at=0.5)
    answer.feed(chunk({"role": "assistant", "content": ""}), at=1.0)
    answer.feed(chunk({"reasoning_content": "Many."}), at=2.0)
    answer.feed(chunk({"content": "Fow"})[:-5], at=2.5)
    answer.feed(chunk({"content": "Fow"})[-5:], at=3.0)
    answer.feed(chunk({"content": "ey"}), at=4.0)
    answer.feed(chunk({}, "stop"), at=5.0)
    answer.feed(event({"choices": [], "id": "c", "usage": usage(4)}), at=6.0)
    answer.feed(b"data: [DONE]\n\n", at=7.0)

    times = answer.finish(at=8.0).timings

    assert (times.first_event, times.first_role, times.first_output, times.first_answer) == (1.0, 1.0, 2.0, 3.0)
    assert (times.last_output, times.finish, times.usage, times.done) == (4.0, 5.0, 6.0, 7.0)
    assert times.chunks == (2.0, 3.0, 4.0)
    assert times.headers is None


def test_without_times_none_are_made_up() -> None:
    answer = reader()
    answer.feed(chunk({"role": "assistant", "content": "Fowey"}) + chunk({}, "stop") + b"data: [DONE]\n\n")
    times = answer.finish().timings
    assert times.first_output is None
    assert times.chunks == ()


def test_a_call_is_output_and_answer() -> None:
    answer = reader()
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    answer.feed(chunk({"tool_calls": [call]}), at=1.5)
    times = answer.finish(at=2.0).timings
    assert (times.first_output, times.first_answer, times.chunks) == (1.5, 1.5, (1.5,))


def test_a_growing_count_dates_the_last_token() -> None:
    answer = reader()
    answer.feed(chunk({"content": "Fo"}, usage=usage(1)), at=1.0)
    answer.feed(event({"id": "c", "choices": [], "usage": usage(3)}), at=2.0)
    answer.feed(event({"id": "c", "choices": [], "usage": usage(3)}), at=3.0)
    times = answer.finish(at=4.0).timings
    assert times.last_output == 2.0
    assert times.usage == 3.0


def test_the_first_chunk_says_how_many_tokens_it_holds() -> None:
    entries = {"content": [{"token": token, "logprob": -0.1, "bytes": None} for token in ("Fow", "ey")]}
    answer = reader()
    answer.feed(event({"id": "c", "choices": [{"index": 0, "delta": {"content": "Fowey"}, "logprobs": entries}]}))
    assert answer.finish().timings.first_output_tokens == 2


def test_the_first_count_says_how_many_tokens_the_first_chunk_holds() -> None:
    answer = reader()
    answer.feed(chunk({"role": "assistant", "content": ""}, usage=usage(0)))
    answer.feed(chunk({"content": "Fowey"}, usage=usage(2)))
    assert answer.finish().timings.first_output_tokens == 2


def test_what_a_model_says_in_place_of_content_is_its_answer() -> None:
    answer = reader()
    answer.feed(chunk({"role": "assistant", "content": None, "refusal": None}), at=1.0)
    answer.feed(chunk({"refusal": "Rather "}), at=2.0)
    answer.feed(chunk({"refusal": "not."}), at=3.0)
    answer.feed(chunk({}, "stop", usage=usage(4)) + b"data: [DONE]\n\n", at=4.0)

    assert answer.has_output
    completion = answer.finish(at=4.0)
    assert (completion.content, completion.refusal) == ("", "Rather not.")
    assert (completion.timings.first_answer, completion.timings.chunks) == (2.0, (2.0, 3.0))
    assert read_body(body({"role": "assistant", "content": None, "refusal": "No."})).refusal == "No."


def test_the_first_chunk_may_not_say_how_many_tokens_it_holds() -> None:
    answer = reader()
    answer.feed(chunk({"content": "Fowey"}))
    assert answer.finish().timings.first_output_tokens is None


@pytest.mark.parametrize(
    ("times", "held_back"),
    [
        ([1.0 + 0.1 * step for step in range(10)], False),
        ([2.0] * 10, True),
        ([0.2] + [3.0 + 0.0005 * step for step in range(9)], True),
        # Two hundred tokens a second behind a queue of ten.
        ([10.0 + 0.005 * step for step in range(10)], False),
        ([0.2, 0.3] + [3.0] * 8, False),
    ],
)
def test_output_in_one_burst_was_held_back(times: list[float], held_back: bool) -> None:
    answer = reader()
    for at in times:
        answer.feed(chunk({"content": "word "}), at=at)
    answer.feed(chunk({}, "stop") + b"data: [DONE]\n\n", at=times[-1])
    assert (Quirk.BUFFERED_TOKENS in answer.finish(at=times[-1]).quirks) == held_back


def test_a_few_tokens_at_once_are_no_burst() -> None:
    answer = reader()
    answer.feed(chunk({"content": "Fowey"}) + chunk({}, "stop") + b"data: [DONE]\n\n", at=1.0)
    assert answer.finish(at=1.0).quirks == ()


def test_it_tells_when_nothing_more_is_due() -> None:
    answer = reader()
    answer.feed(chunk({"content": "Fowey"}))
    assert not answer.finished
    answer.feed(chunk({}, "stop") + b"data: [DONE]\n\n")
    assert answer.finished


def test_it_tells_whether_anything_has_come() -> None:
    answer = reader()
    answer.feed(b": ping\n\n" + chunk({"role": "assistant", "content": ""}))
    assert not answer.has_output
    answer.feed(chunk({"content": "F"}))
    assert answer.has_output


def test_comments_are_counted() -> None:
    answer = reader()
    answer.feed(b": ping\n\n: ping\n\n" + chunk({"content": "F"}, "stop") + b"data: [DONE]\n\n")
    assert answer.finish().comments == 2


@pytest.mark.parametrize("status", [301, 401, 404, 500, 502])
def test_a_status_that_is_no_success_is_an_error_without_a_quirk(status: int) -> None:
    completion = read_body(b'{"error":{"code":"c","message":"said"}}', status)
    assert completion.disposition is Disposition.ERROR
    assert completion.quirks == ()
    assert (completion.error_code, completion.error_message) == ("c", "said")
    assert not completion.unreadable


@pytest.mark.parametrize(
    "content", [b"", b"<!DOCTYPE html>", b"Not found", b'{"id": "c", "choi', b"[1, 2]", b"\x00\xff"]
)
def test_a_body_that_is_no_answer_is_an_error_that_says_so(content: bytes) -> None:
    completion = read_body(content, headers={"content-type": "text/html"})
    assert completion.disposition is Disposition.ERROR
    assert completion.unreadable
    assert completion.content is None
    assert "text/html" in str(completion.error_message)


def test_an_object_without_choices_is_an_empty_answer() -> None:
    completion = read_body(b'{"status": "ok", "models": []}')
    assert completion.quirks == (Quirk.EMPTY_CHOICES,)
    assert not completion.unreadable


def test_a_fastapi_error_needs_no_error_key() -> None:
    completion = read_body(b'{"detail": "Not Found"}', 404)
    assert completion.error_message == "Not Found"


def test_a_stream_that_never_began_was_cut() -> None:
    assert reader().finish().quirks == (Quirk.STREAM_TRUNCATED,)
    assert reader(headers={}).finish().quirks == (Quirk.STREAM_TRUNCATED,)


def test_an_error_status_on_a_stream_is_no_truncation() -> None:
    answer = reader(status=500)
    answer.feed(b"data: oops\n\n")
    completion = answer.finish()
    assert completion.disposition is Disposition.ERROR
    assert completion.quirks == (Quirk.SSE_NON_JSON_DATA,)


def test_header_names_may_have_any_case() -> None:
    completion = read_body(b"{}", 429, {"Content-Type": "application/json", "Retry-After": "3"})
    assert completion.retry_after is not None
    assert completion.retry_after.seconds == 3


def test_who_served_it_is_in_the_body_or_in_a_header() -> None:
    assert read_body(body(provider="Fireworks")).served_by == "Fireworks"
    assert read_body(body(), headers={**JSON, "X-Inference-Provider": "nebius"}).served_by == "nebius"
    assert read_body(body()).served_by is None


def test_the_details_of_usage_are_kept() -> None:
    output, prompt = {"reasoning_tokens": 2}, {"cached_tokens": 8}
    counted = {**usage(4), "completion_tokens_details": output, "prompt_tokens_details": prompt}
    assert read_body(body(usage=counted)).usage == Usage(10, 4, 14, 2, 8)


def test_usage_in_the_choice_counts() -> None:
    answer = reader({"model": "m", "stream": True, "stream_options": {"include_usage": True}})
    answer.feed(chunk({"content": "F"}))
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage(1)}
    answer.feed(event({"id": "c", "choices": [choice]}) + b"data: [DONE]\n\n")
    completion = answer.finish()
    assert completion.quirks == ()
    assert completion.usage == Usage(10, 1, 11)


def test_the_first_of_several_choices_is_read() -> None:
    answer = reader()
    for index in (0, 1):
        answer.feed(event({"id": "c", "choices": [{"index": index, "delta": {"content": f"answer {index}"}}]}))
    for index in (1, 0):
        answer.feed(event({"id": "c", "choices": [{"index": index, "delta": {}, "finish_reason": "stop"}]}))
    answer.feed(b"data: [DONE]\n\n")
    completion = answer.finish()
    assert completion.content == "answer 0"
    assert completion.quirks == ()


@pytest.mark.parametrize(("n", "quirks"), [(1, (Quirk.FINISH_MASKS_LENGTH, Quirk.MULTI_TOKEN_CHUNK)), (2, ())])
def test_what_several_choices_hold_together_says_nothing_of_one(n: int, quirks: tuple[Quirk, ...]) -> None:
    answer = reader({"model": "m", "stream": True, "n": n, "max_tokens": 12})
    answer.feed(chunk({"content": "Fowey lies on the river and"}))
    answer.feed(chunk({}, "stop", usage=usage(12)) + b"data: [DONE]\n\n")
    assert answer.finish().quirks == quirks


def test_missing_ids_are_made_up_for_the_way_back() -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [{**call, "id": "call_1"}, call]}
    ids = [call.id for call in read_body(body(message)).tool_calls]
    assert ids == ["call_1", "call_1_"]


def test_the_old_function_call_is_a_call_without_an_id() -> None:
    request = {"model": "m", "functions": [{"name": "f", "parameters": {"type": "object"}}]}
    choice = {
        "message": {"content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        "finish_reason": "function_call",
    }
    content = json.dumps({"id": "c", "choices": [choice]}).encode()
    completion = read(request, endpoint=CHAT, http_status=200, headers=JSON, body=content)
    assert completion.quirks == ()
    assert [(call.name, call.arguments) for call in completion.tool_calls] == [("f", {"a": 1})]


@pytest.mark.parametrize(("finish", "quirks"), [("length", ()), ("stop", (Quirk.TC_AS_TEXT,))])
def test_a_call_that_the_limit_cuts_stays_text(finish: str, quirks: tuple[Quirk, ...]) -> None:
    message = {"role": "assistant", "content": '<tool_call>\n{"name": "f", "argum'}
    assert read_body(body(message).replace(b"stop", finish.encode())).quirks == quirks


@pytest.mark.parametrize(
    ("finish", "thought", "quirk"),
    [("length", "The Petrel is", Quirk.REASONING_FIELD_VARIANT), ("stop", None, Quirk.SPECIAL_TOKEN_LEAK)],
)
def test_a_thought_in_tags_that_the_limit_cuts_is_a_thought(finish: str, thought: str | None, quirk: Quirk) -> None:
    message = {"role": "assistant", "content": "<think>\nThe Petrel is"}
    completion = read_body(body(message).replace(b"stop", finish.encode()))
    assert (completion.reasoning, completion.quirks) == (thought, (quirk,))
    assert completion.content == "<think>\nThe Petrel is"


def test_beside_tool_calls_the_old_function_call_is_no_other_call() -> None:
    said = {"name": "f", "arguments": '{"a": 1}'}
    call = {"id": "call__0_f_cmpl-1", "type": "function", "function": said}
    message = {"role": "assistant", "content": None, "tool_calls": [call], "function_call": said}
    assert [found.id for found in read_body(body(message)).tool_calls] == ["call__0_f_cmpl-1"]


def test_bytes_that_are_no_utf8_are_not_the_servers_replacement() -> None:
    answer = reader()
    answer.feed(chunk({"content": "caf@"}).replace(b"@", b"\xe9") + chunk({}, "stop") + b"data: [DONE]\n\n")
    completion = answer.finish()
    assert completion.content == "caf\ufffd"
    assert completion.quirks == ()


@pytest.mark.parametrize(
    ("written", "seen"),
    [(r"caf\ufffd", True), (r"caf\uFFFD", True), ("caf\ufffd", True), (r"caf\\ufffd", False), (r"caf\u00e9", False)],
)
def test_a_replacement_is_seen_in_arguments_however_it_is_written(written: str, seen: bool) -> None:
    request = {"model": "m", "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": f'{{"place": "{written}"}}'}}
    choice = {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
    content = json.dumps({"id": "c", "choices": [choice]}).encode()
    completion = read(request, endpoint=CHAT, http_status=200, headers=JSON, body=content)
    assert completion.quirks == ((Quirk.REPLACEMENT_CHAR,) if seen else ())


def test_arguments_nested_too_deeply_are_not_looked_at() -> None:
    request = {"model": "m", "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}
    arguments = '{"a":' * 70 + "1" + "}" * 70
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    content = body({"content": None, "tool_calls": [call]}).replace(b'"stop"', b'"tool_calls"')
    completion = read(request, endpoint=CHAT, http_status=200, headers=JSON, body=content)
    assert completion.quirks == (Quirk.TC_SCHEMA_MISMATCH,)
    assert completion.tool_calls[0].arguments_raw == arguments


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"a":' * 100_000, b'{"choices": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"]
)
def test_bottomless_json_is_no_answer(content: bytes) -> None:
    completion = read_body(content)
    assert completion.disposition is Disposition.ERROR
    assert completion.unreadable


def test_a_number_without_end_is_no_answer() -> None:
    assert read_body(b'{"choices": [], "usage": {"total_tokens": ' + b"9" * 5_000 + b"}}").unreadable


@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        ("eos", "stop"),
        ("eos_token", "stop"),
        ("STOP", "stop"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("tool_use", "tool_calls"),
        ("SAFETY", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("Stopped", "Stopped"),
    ],
)
def test_a_known_synonym_is_translated_and_the_raw_finish_reason_kept(raw: str, meant: str) -> None:
    called = [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    answer = reader({"model": "m", "stream": True, "tools": [{"type": "function", "function": {"name": "f"}}]})
    answer.feed(chunk({"tool_calls": called} if meant == "tool_calls" else {"content": "F"}))
    answer.feed(chunk({}, raw) + b"data: [DONE]\n\n")
    completion = answer.finish()
    assert (completion.finish_reason, completion.finish_reason_raw) == (meant, raw)
    assert completion.quirks == (Quirk.FINISH_NONSTANDARD,)


def test_a_cut_that_is_told_in_another_word_hides_nothing() -> None:
    answer = reader({"model": "m", "stream": True, "max_tokens": 6})
    answer.feed(chunk({"content": "Fowey lies on the river and"}))
    answer.feed(chunk({}, "max_tokens", usage=usage(6)) + b"data: [DONE]\n\n")
    assert Quirk.FINISH_MASKS_LENGTH not in answer.finish().quirks


@pytest.mark.parametrize("known", [True, False])
def test_two_entries_of_one_delta_are_two_calls_though_nothing_tells_them_apart(known: bool) -> None:
    tools = [{"type": "function", "function": {"name": "f" if known else "g"}}]
    entries = [{"type": "function", "function": {"name": "f", "arguments": f'{{"n": {n}}}'}} for n in (1, 2)]
    answer = reader({"model": "m", "stream": True, "tools": tools})
    answer.feed(chunk({"tool_calls": entries}) + chunk({}, "tool_calls") + b"data: [DONE]\n\n")
    completion = answer.finish()
    assert [call.arguments for call in completion.tool_calls] == [{"n": 1}, {"n": 2}]
    assert Quirk.TC_NAME_REPEATED not in completion.quirks


def test_quirks_stand_in_the_order_of_the_table() -> None:
    completion = read_body(body({"content": "a</s>", "reasoning": "r"}, id=""))
    assert list(completion.quirks) == sorted(completion.quirks, key=list(Quirk).index)
    assert len(completion.quirks) == 3


@pytest.mark.parametrize(
    ("arguments", "text", "as_string"),
    [
        ('{"n": 2.0, "m": 9007199254740993}', '{"n": 2.0, "m": 9007199254740993}', True),
        ('{"n": ', '{"n": ', True),
        ("", "", True),
        ({"n": 2.0}, '{"n": 2.0}', False),
    ],
)
def test_a_call_keeps_its_argument_text_as_it_came(arguments: Any, text: str, as_string: bool) -> None:
    entry = {"index": 0, "id": "a", "function": {"name": "f", "arguments": arguments}}
    (call,) = read_body(body({"tool_calls": [entry]})).tool_calls
    assert (call.arguments_text, call.as_string) == (text, as_string)


def test_a_call_keeps_what_else_its_object_holds() -> None:
    entry = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    extra = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}
    streamed = reader()
    streamed.feed(chunk({"tool_calls": [{"index": 0, **entry, **extra}]}))
    streamed.feed(chunk({"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}, "tool_calls"))

    calls = [*read_body(body({"tool_calls": [{**entry, **extra}, entry]})).tool_calls, *streamed.finish().tool_calls]

    assert [call.extra for call in calls] == [extra, {}, extra]
