"""Makes one attempt: sends a request, reads the answer under its time and size limits, and says what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from probes.clock import Clock
from probes.completion import Completion, Endpoint
from probes.diagnosis import Answer, diagnose, effective_status
from probes.failure import Failure, FailureKind
from probes.headers import kept
from probes.plan import Attempt
from probes.progress import Progress
from probes.quirks import Disposition
from probes.reader import AnswerReader
from probes.retry import retry_after_seconds
from probes.target import Target
from probes.transport import Response, Transport
from probes.transport_failure import TransportError

# What is kept of a body that is too large: enough to see what it is.
_KEPT_OF_TOO_LARGE = 64 * 1024
# After [DONE] the connection is worth waiting for a moment: read to its end, it can be used again.
_AFTER_DONE_S = 0.25


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    path: Endpoint | str
    request: Mapping[str, Any]
    content: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One attempt and what it amounts to: exactly one of `failure` and a usable `completion` where it was answered.

    `left_at` is when the request left, on the monotonic clock; None where no answer began."""

    attempt: Attempt
    completion: Completion | None
    failure: Failure | None
    status: int | None
    retry_after_s: float | None = None
    left_at: float | None = None


class _Sink(Protocol):
    """What the bytes of an answer are read by."""

    @property
    def finished(self) -> bool: ...

    def feed(self, data: bytes, *, at: float) -> None: ...

    def finish(self, *, at: float) -> Completion | None: ...


_SinkFor = Callable[[Response, float], _Sink]


class _Unread:
    """The sink of an answer that is no completion."""

    finished = False

    def feed(self, data: bytes, *, at: float) -> None: ...

    def finish(self, *, at: float) -> None: ...


@dataclass(slots=True)
class _Received:
    """What has arrived so far."""

    response: Response | None = None
    body: bytearray = field(default_factory=bytearray)
    completion: Completion | None = None
    failure: Failure | None = None


class Asker:
    """Makes attempts at one target over one transport."""

    def __init__(self, target: Target, transport: Transport, clock: Clock) -> None:
        self._target = target
        self._transport = transport
        self._clock = clock
        self._headers = target.request_headers()
        self.redactor = target.redactor()

    async def ask(self, endpoint: Endpoint, request: Mapping[str, Any]) -> Exchange:
        """POST `request` as it stands. Raises AddressForbiddenError only; every other fault is in the result."""

        def reader(response: Response, headers_at: float) -> _Sink:
            return AnswerReader(
                request,
                endpoint=endpoint,
                http_status=response.status,
                headers=response.headers,
                headers_at=headers_at,
            )

        content = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
        return await self._exchange(_Call("POST", endpoint, request, content), reader)

    async def fetch(self, path: str) -> Exchange:
        """GET a path; the answer is no completion, so only its `attempt` and `failure` mean something."""
        return await self._exchange(_Call("GET", path, {}, None), lambda *_: _Unread())

    async def _exchange(self, call: _Call, sink_for: _SinkFor) -> Exchange:
        received = _Received()
        sent_at = self._clock.now()
        start = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._target.timeout_s):
                await self._receive(call, sink_for, received)
        except TimeoutError:
            received.failure = self._timed_out(f"did not finish within {self._target.timeout_s:g} s")
        except TransportError as error:
            received.failure = error.failure
        seconds = self._clock.monotonic() - start
        return self._concluded(call.request, received, sent_at, seconds)

    async def _receive(self, call: _Call, sink_for: _SinkFor, received: _Received) -> None:
        url = self._target.url(call.path)
        async with self._transport.exchange(call.method, url, headers=self._headers, content=call.content) as response:
            received.response = response
            sink = sink_for(response, self._clock.monotonic() - response.sent_at)
            try:
                async with asyncio.timeout(self._target.idle_timeout_s) as idle:
                    await self._read(response, sink, idle, received)
            except TimeoutError:
                if not idle.expired():
                    raise
                self._settle_idle(sink, received, self._clock.monotonic() - response.sent_at)

    async def _read(self, response: Response, sink: _Sink, idle: asyncio.Timeout, received: _Received) -> None:
        loop = asyncio.get_running_loop()
        progress = Progress()
        async for piece in response.chunks():
            received.body += piece
            if len(received.body) > self._target.max_body_bytes:
                received.failure = self._too_large()
                return
            had_finished = sink.finished
            sink.feed(piece, at=self._clock.monotonic() - response.sent_at)
            if sink.finished and not had_finished:
                idle.reschedule(loop.time() + _AFTER_DONE_S)
            elif not had_finished and progress.saw(piece):
                idle.reschedule(loop.time() + self._target.idle_timeout_s)
        received.completion = sink.finish(at=self._clock.monotonic() - response.sent_at)

    def _settle_idle(self, sink: _Sink, received: _Received, at: float) -> None:
        """Nothing more comes. An answer that had ended before is whole all the same."""
        completion = sink.finish(at=at)
        if sink.finished or (completion and completion.finish_reason and completion.disposition != Disposition.ERROR):
            received.completion = completion
        else:
            limit = self._target.idle_timeout_s
            received.failure = self._timed_out(f"kept the connection open but sent no data for {limit:g} s")

    def _concluded(
        self, request: Mapping[str, Any], received: _Received, sent_at: datetime, seconds: float
    ) -> Exchange:
        response, failure, completion = received.response, received.failure, received.completion
        if response is None:
            return Exchange(_marked(Attempt(None, {}, b"", sent_at, seconds), failure), None, failure, None)
        limit = len(received.body) if len(received.body) <= self._target.max_body_bytes else _KEPT_OF_TOO_LARGE
        body = self.redactor.body(bytes(received.body[:limit]))
        completion = completion and self._redacted(completion)
        asked = completion.retry_after if completion else None
        wait = retry_after_seconds(asked, date=response.headers.get("date"), now=sent_at)
        answer = Answer(
            self._target.place, request, response.status, response.headers, body, completion, self.redactor, wait
        )
        failure = failure or diagnose(answer)
        headers = kept(response.headers, self.redactor)
        attempt = Attempt(response.status, headers, body, sent_at, seconds)
        status = effective_status(answer)
        return Exchange(_marked(attempt, failure), completion, failure, status, wait, response.sent_at)

    def _redacted(self, completion: Completion) -> Completion:
        """Servers quote the key they refuse; the rest of an answer comes from a model, which never saw it."""
        code, message = completion.error_code, completion.error_message
        if code is None and message is None:
            return completion
        return replace(
            completion,
            error_code=self.redactor.text(code) if isinstance(code, str) else code,
            error_message=self.redactor.text(message) if message else message,
        )

    def _timed_out(self, what: str) -> Failure:
        remedy = "Raise the provider's `timeout`, or ask for fewer tokens; the server may be overloaded."
        return Failure(FailureKind.TIMEOUT, f"{self._target.place} {what}.", remedy)

    def _too_large(self) -> Failure:
        message = f"{self._target.place} answered with more than {self._target.max_body_bytes} bytes."
        return Failure(FailureKind.PROTOCOL, message, "No completion is that large; check what base_url points at.")


def _marked(attempt: Attempt, failure: Failure | None) -> Attempt:
    return replace(attempt, error=failure.code, message=failure.message) if failure else attempt
