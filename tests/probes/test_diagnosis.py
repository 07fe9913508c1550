"""What an answer fails by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from probes.diagnosis import Answer, diagnose, effective_status
from probes.failure import FailureKind
from probes.reader import AnswerReader
from probes.redaction import Redactor
from tests.endpoints.hostile import HTML, error
from tests.endpoints.lawful import Lawful

REQUEST = {"messages": [{"role": "user", "content": "Name one harbour in Cornwall."}], "stream": False}


def answer(
    status: int, body: Any, *, headers: Mapping[str, str] | None = None, request: Mapping[str, Any] = REQUEST
) -> Answer:
    raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    reader = AnswerReader(request, endpoint="/v1/chat/completions", http_status=status, headers=headers or {})
    reader.feed(raw)
    return Answer("api.example:443", request, status, headers or {}, raw, reader.finish(), Redactor.of([]))


def kind(answer: Answer) -> FailureKind | None:
    failure = diagnose(answer)
    assert failure is None or (failure.message.startswith("api.example:443 ") and failure.remedy)
    return failure.kind if failure else None


def test_a_lawful_answer_fails_by_nothing() -> None:
    assert kind(answer(200, Lawful().whole({"max_tokens": 1}))) is None


def test_a_models_own_bad_call_is_no_fault_of_the_endpoint() -> None:
    tool = {"type": "function", "function": {"name": "book_berth", "parameters": {"type": "object"}}}
    body = error("the generated call to book_berth does not fit its parameter schema", code="tool_use_failed")
    body["error"]["failed_generation"] = '{"harbour": "Fowey"}'

    assert kind(answer(400, body, request={**REQUEST, "tools": [tool]})) is None


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (301, "", FailureKind.PROTOCOL),
        (400, error("Bad request"), FailureKind.REJECTED),
        (400, error("Your credit balance is too low"), FailureKind.QUOTA),
        (400, HTML, FailureKind.PROTOCOL),
        (401, HTML, FailureKind.AUTH),
        (402, "", FailureKind.QUOTA),
        (403, error("Forbidden"), FailureKind.AUTH),
        (403, error("flagged by content_filter"), FailureKind.REJECTED),
        (404, error("no such model"), FailureKind.NOT_FOUND),
        (404, HTML, FailureKind.PROTOCOL),
        (405, error("Method not allowed"), FailureKind.REJECTED),
        (408, error("timed out"), FailureKind.SERVER),
        (409, error("conflict"), FailureKind.SERVER),
        (422, {"detail": "no"}, FailureKind.REJECTED),
        (429, HTML, FailureKind.RATE_LIMITED),
        (429, error("Rate limit reached"), FailureKind.RATE_LIMITED),
        (429, error("no", code="insufficient_quota"), FailureKind.QUOTA),
        (500, "Internal Server Error", FailureKind.SERVER),
        (502, HTML, FailureKind.SERVER),
        (529, error("Overloaded"), FailureKind.SERVER),
        (200, HTML, FailureKind.PROTOCOL),
        (200, "", FailureKind.PROTOCOL),
        (200, {"status": "up"}, FailureKind.PROTOCOL),
        (200, {"id": "1", "choices": []}, FailureKind.SERVER),
        (200, {"error": {"message": "busy", "code": 429}}, FailureKind.RATE_LIMITED),
        (200, {"error": {"message": "busy", "code": "503"}}, FailureKind.SERVER),
        (200, {"error": {"message": "no such key", "code": 401}}, FailureKind.AUTH),
        (200, {"error": {"message": "broken", "code": "server_error"}}, FailureKind.SERVER),
        (200, {"error": "broken"}, FailureKind.SERVER),
        (200, 'data: {"choices": [], "error": {"code": 502, "message": "queue full"}}\n\n', FailureKind.SERVER),
        (200, 'data: {"choices": [{"index": 0, "delta": {"content": "Fo"}}]}\n\n', FailureKind.RESET),
        (200, ": keep-alive\n\n", FailureKind.RESET),
    ],
)
def test_each_kind_of_answer_has_its_name(status: int, body: Any, expected: FailureKind) -> None:
    assert kind(answer(status, body)) is expected


def test_the_status_inside_a_200_is_the_one_that_counts() -> None:
    assert effective_status(answer(200, {"error": {"message": "busy", "code": 429}})) == 429
    assert effective_status(answer(200, {"error": {"message": "busy", "code": "429"}})) == 429
    assert effective_status(answer(200, {"error": {"message": "busy", "code": 7}})) == 200
    assert effective_status(answer(503, {"error": {"message": "busy", "code": 429}})) == 503
    assert effective_status(answer(200, Lawful().whole({}))) == 200


def test_what_the_server_says_is_quoted_short_and_clean() -> None:
    failure = diagnose(answer(400, error("Bad\x1b[2J\nrequest " + "x" * 100)))

    assert failure is not None
    assert failure.message == f"api.example:443 refuses the request with 400 (it says: 'Bad [2J request {'x' * 63}…')."


def test_an_answer_that_was_not_read_as_a_completion_is_judged_by_its_start() -> None:
    whole = answer(200, {"data": []})
    page = answer(200, HTML)

    assert kind(Answer(whole.place, {}, 200, {}, whole.body, None, whole.redactor)) is None
    assert kind(Answer(page.place, {}, 200, {}, page.body, None, page.redactor)) is FailureKind.PROTOCOL
    assert kind(Answer(page.place, {}, 500, {}, page.body, None, page.redactor)) is FailureKind.SERVER


@pytest.mark.parametrize("location", ["https://[::1", "https://[nonsense]/v1", ""])
def test_a_redirect_to_no_url_is_named_all_the_same(location: str) -> None:
    failure = diagnose(answer(302, "", headers={"location": location}))

    assert failure is not None
    assert failure.message.endswith("redirects to another path.")


@pytest.mark.parametrize(("code", "status"), [("429", 429), ("9" * 5000, 200), ("42", 200)])
def test_a_code_in_digits_is_a_status_where_it_is_one(code: str, status: int) -> None:
    assert effective_status(answer(200, {"error": {"message": "no", "code": code}})) == status
