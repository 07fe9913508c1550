"""Names what is wrong with an answer: from status, headers, body and the reader's finding to a `Failure`, or none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from probes.completion import Completion
from probes.failure import CHECK_BASE_URL, Failure, FailureKind
from probes.quirks import Disposition, Quirk
from probes.redaction import Redactor
from probes.wire.json_value import strings_in

_NO_CREDIT = re.compile(
    r"insufficient[_ ](?:quota|balance|credit|funds)|exceeded your current quota|billing|credit balance"
    r"|out of credits|no credits|payment required|quota is used up",
    re.IGNORECASE,
)
_MODERATED = re.compile(r"moderat|content[_ ](?:filter|policy|management)|flagged|safety", re.IGNORECASE)
_SHOWN_BODY = 400

_FIX_KEY = "Check the provider's `api_key`: the variable or file it names may hold an old or foreign key."
_FIX_QUOTA = "Add credit or raise the limit in the provider's console."
_FIX_RATE = "Lower `limits.rpm` or `limits.max_concurrency` for this provider, or probe it less often."
_FIX_NAME = "Check the model's `name` in the providers file; the provider lists its names at /models."
_FIX_REQUEST = "Check the model's `name`, the provider's `extra_body`, and that it serves /chat/completions."
_FIX_SERVER = "Nothing is wrong with the request; see the provider's status page or the server's log."


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, as it came. Header names are lower case; `body` is free of keys."""

    place: str
    request: Mapping[str, Any]
    status: int
    headers: Mapping[str, str]
    body: bytes
    completion: Completion | None
    redactor: Redactor
    retry_after_s: float | None = None


def effective_status(answer: Answer) -> int:
    """The HTTP status, or the one a 200 carries in an error object of its own."""
    completion = answer.completion
    if answer.status >= 300 or completion is None:
        return answer.status
    return status_of(completion) if completion.disposition == Disposition.ERROR else answer.status


def status_of(refused: Completion) -> int:
    """As `effective_status`, of an answer that is an error."""
    code = refused.error_code
    if isinstance(code, str) and len(code) == 3 and code.isdecimal():
        code = int(code)
    said = isinstance(code, int) and 400 <= code <= 599 and refused.http_status < 300
    return code if said else refused.http_status


def diagnose(answer: Answer) -> Failure | None:
    """What the answer fails by, None where it can be used."""
    status = effective_status(answer)
    if status >= 400:
        return _refusal(answer, status)
    if status >= 300:
        return _redirect(answer)
    if _is_unreadable(answer):
        return _not_an_api(answer)
    completion = answer.completion
    if completion is None or completion.disposition != Disposition.ERROR:
        return None
    if Quirk.STREAM_TRUNCATED in completion.quirks:
        message = f"{answer.place} ended its stream before the answer was complete."
        return Failure(FailureKind.RESET, message, _FIX_SERVER)
    if Quirk.EMPTY_CHOICES in completion.quirks and b'"choices"' not in answer.body:
        message = f"{answer.place} answers with JSON that holds no `choices`."
        return Failure(FailureKind.PROTOCOL, message, CHECK_BASE_URL)
    return Failure(FailureKind.SERVER, f"{answer.place} answered with an error{_said(answer)}.", _FIX_SERVER)


def _refusal(answer: Answer, status: int) -> Failure | None:
    completion = answer.completion
    if completion is not None and Quirk.TC_PROVIDER_REJECTED in completion.quirks:
        return None
    said = _said(answer)
    place = answer.place
    text = _text(answer)
    if status == 402 or (status < 500 and _NO_CREDIT.search(text)):
        return Failure(FailureKind.QUOTA, f"{place} answers {status}: the account has no credit{said}.", _FIX_QUOTA)
    if status == 429:
        asked = "" if answer.retry_after_s is None else f" and asks to wait {answer.retry_after_s:g} s"
        return Failure(FailureKind.RATE_LIMITED, f"{place} answers 429, too many requests{asked}{said}.", _FIX_RATE)
    if status == 401 or (status == 403 and not _MODERATED.search(text)):
        return Failure(FailureKind.AUTH, f"{place} answers {status}: the key is not accepted{said}.", _FIX_KEY)
    if status >= 500 or status in (408, 409, 425):
        return Failure(FailureKind.SERVER, f"{place} answers {status}{said}.", _FIX_SERVER)
    if _is_unreadable(answer):
        return _not_an_api(answer)
    if status == 404:
        return Failure(FailureKind.NOT_FOUND, f"{place} answers 404{said}.", _FIX_NAME)
    return Failure(FailureKind.REJECTED, f"{place} refuses the request with {status}{said}.", _FIX_REQUEST)


def _redirect(answer: Answer) -> Failure:
    shown = answer.redactor.excerpt(_host_in(answer.headers.get("location", "")), {})
    message = f"{answer.place} answers {answer.status} and redirects to {shown or 'another path'}."
    return Failure(FailureKind.PROTOCOL, message, "Redirects are not followed; set base_url to the final address.")


def _host_in(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _not_an_api(answer: Answer) -> Failure:
    kind = answer.redactor.excerpt(answer.headers.get("content-type", ""), {}) or "no content type"
    start = answer.redactor.excerpt(_start(answer), answer.request)
    shown = f", starting {start!r}" if start else " and an empty body"
    message = f"{answer.place} answers {answer.status} with {kind} instead of JSON{shown}."
    return Failure(FailureKind.PROTOCOL, message, CHECK_BASE_URL)


def _is_unreadable(answer: Answer) -> bool:
    """Whether the body is neither JSON nor an event stream. An answer that is no completion was not read."""
    if answer.completion is not None:
        return answer.completion.unreadable
    return not answer.body.lstrip().startswith((b"{", b"["))


def _text(answer: Answer) -> str:
    """What it says, but for what it repeats of the question: in JSON that has other letters than the question has."""
    try:
        said = "\n".join(strings_in(json.loads(answer.body)))
    except (ValueError, RecursionError):
        said = answer.body.decode("utf-8", "replace")
    return answer.redactor.excerpt(said, answer.request, limit=4096)


def _start(answer: Answer) -> str:
    return answer.body[:_SHOWN_BODY].decode("utf-8", "replace")


def _said(answer: Answer) -> str:
    """The server's own message, quoted and shortened, where it gave one."""
    completion = answer.completion
    text = completion.error_message if completion is not None else None
    shown = answer.redactor.excerpt(text or _message(answer.body), answer.request)
    return f" (it says: {shown!r})" if shown else ""


def _message(body: bytes) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for name in ("error", "message", "detail"):
        if isinstance(value, Mapping) and value.get(name):
            value = value[name]
    return value if isinstance(value, str) else ""
