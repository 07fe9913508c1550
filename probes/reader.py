"""Reads the answer of an OpenAI-compatible endpoint, as its bytes come, into one `Completion`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.completion import Completion, Endpoint, Timings
from probes.quirks import Quirk
from probes.sse import Event, EventDecoder
from probes.wire.answer import Answer
from probes.wire.asked import Asked
from probes.wire.body_form import BodyForm, is_event_stream, sniff
from probes.wire.conclusion import Circumstances, conclude
from probes.wire.json_value import parse_json
from probes.wire.surrogates import paired
from probes.wire.timeline import Timeline

_DONE = "[DONE]"
_REPLACEMENT_BYTES = b"\xef\xbf\xbd"
_REPLACEMENT_ESCAPE = b"\\ufffd"


class AnswerReader:
    """Feed it the body in any pieces, then `finish` it once, also where the connection broke. It never raises for
    anything an endpoint can send: whatever came is a `Completion`, with quirks that say what was wrong with it.

    The disposition is the worst of the quirks'. It is error as well where the status is not 2xx or the body is no
    answer at all, whatever the quirks (but for TC_PROVIDER_REJECTED, a failure of the model).
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        *,
        endpoint: Endpoint,
        http_status: int,
        headers: Mapping[str, str],
        expected_arguments: Mapping[str, Any] | None = None,
        headers_at: float | None = None,
        timings: Timings | None = None,
    ) -> None:
        """`expected_arguments` is what the probe wants every call to say, where it knows that beforehand, `headers_at`
        when the headers came, in seconds after the request was sent. `timings` are those of the answer where it is read
        again, so that what they tell is found again."""
        self._headers = {name.lower(): paired(value) for name, value in headers.items()}
        self._http_status = http_status
        self._expected_arguments = expected_arguments
        self._answer = Answer(Asked.of(request, chat=endpoint == "/v1/chat/completions"), Timeline(timings))
        self._answer.timeline.mark_first("headers", headers_at)
        self._form: BodyForm | None = None
        self._unsniffed = bytearray()
        self._document = bytearray()
        self._decoder = EventDecoder()
        self._done = False

    @property
    def finished(self) -> bool:
        """Whether [DONE] was read: nothing more is due."""
        return self._done

    @property
    def has_output(self) -> bool:
        """Whether text, reasoning or a call has come; of a JSON body, whether any of it has."""
        return self._answer.has_output or bool(self._document.strip())

    def feed(self, data: bytes, at: float | None = None) -> None:
        """The next bytes of the body, in pieces of any size, `at` seconds after the request was sent."""
        if self._form is None:
            # Some servers keep a connection alive with blanks before the body.
            self._unsniffed = (self._unsniffed + data).lstrip()
            self._settle(sniff(bytes(self._unsniffed), self._content_type), at)
        else:
            self._take(data, at)

    def finish(self, at: float | None = None) -> Completion:
        """The answer, once no more bytes come."""
        if self._form is None:
            self._settle(self._form_of_nothing(), at)
        unreadable = None
        if self._form is BodyForm.EVENTS:
            for event in self._decoder.finish():
                self._take_event(event, at)
        else:
            unreadable = self._take_document()
        around = Circumstances(
            self._http_status,
            self._headers,
            expected_arguments=self._expected_arguments,
            done=self._done,
            comments=self._decoder.comments,
            unreadable=unreadable,
        )
        return conclude(self._answer, around)

    @property
    def _content_type(self) -> str:
        return self._headers.get("content-type", "")

    def _form_of_nothing(self) -> BodyForm:
        """What too few bytes to tell are: a stream that never began where one was due."""
        streaming = is_event_stream(self._content_type) or (self._answer.asked.stream and self._http_status == 200)
        return BodyForm.EVENTS if streaming and not self._unsniffed else BodyForm.DOCUMENT

    def _settle(self, form: BodyForm | None, at: float | None) -> None:
        if form is None:
            return
        self._form = form
        if form is BodyForm.EVENTS:
            self._answer.open_stream()
        self._take(bytes(self._unsniffed), at)
        self._unsniffed.clear()

    def _take(self, data: bytes, at: float | None) -> None:
        if self._form is BodyForm.DOCUMENT:
            self._document += data
            return
        for event in self._decoder.feed(data):
            self._take_event(event, at)

    def _take_event(self, event: Event, at: float | None) -> None:
        text = event.data.decode("utf-8", "replace").strip()
        if text == _DONE:
            self._done = True
            self._answer.timeline.mark_first("done", at)
            return
        try:
            chunk = parse_json(text)
        except ValueError:
            chunk = None
        if isinstance(chunk, dict):
            self._answer.take_chunk(chunk, replaced=_holds_replacement(event.data), at=at)
        elif event.whole:
            self._answer.quirks.add(_fault_of(text))

    def _take_document(self) -> str | None:
        """Why the document is no answer, None where it is one."""
        try:
            body = parse_json(self._document.decode("utf-8-sig", "replace"))
        except ValueError:
            return f"The body is neither JSON nor an event stream: {self._described()}."
        if not isinstance(body, dict):
            return f"The body is JSON but not an object: {self._described()}."
        self._answer.take_body(body, replaced=_holds_replacement(bytes(self._document)))
        return None

    def _described(self) -> str:
        return f"{len(self._document)} bytes of {self._content_type or 'no content type'}"


def read(
    request: Mapping[str, Any],
    *,
    endpoint: Endpoint,
    http_status: int,
    headers: Mapping[str, str],
    body: bytes,
    timings: Timings | None = None,
) -> Completion:
    """The answer whose whole body is at hand, with the timings of when it came where they are known."""
    reader = AnswerReader(request, endpoint=endpoint, http_status=http_status, headers=headers, timings=timings)
    reader.feed(body)
    return reader.finish()


def _fault_of(text: str) -> Quirk:
    """What is wrong with the data of an event that is no JSON object."""
    if not text:
        return Quirk.SSE_EMPTY_DATA
    return Quirk.SSE_FRAME_CORRUPT if "data:" in text else Quirk.SSE_NON_JSON_DATA


def _holds_replacement(data: bytes) -> bool:
    """Whether the server itself wrote U+FFFD: what our own decoding puts in for broken bytes is not its doing."""
    return _REPLACEMENT_BYTES in data or _REPLACEMENT_ESCAPE in data.lower()
