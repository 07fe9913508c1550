"""Sends one body to an address that a user gave, through the guarded transport, and reads a little of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from probes.failure import Failure, FailureKind
from probes.transport import Response, Transport
from probes.transport_failure import TransportError

TIMEOUT_S = 15.0
MAX_ANSWER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names are lower case, and `body` is cut at MAX_ANSWER_BYTES."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def post_once(
    transport: Transport, url: str, *, headers: Mapping[str, str], content: bytes, timeout_s: float = TIMEOUT_S
) -> Answer:
    """One try; opens and closes `transport`.

    Raises TransportError where no whole answer came in time, AddressForbiddenError where no socket was opened.
    """
    try:
        async with (
            asyncio.timeout(timeout_s),
            transport,
            transport.exchange("POST", url, headers=headers, content=content) as response,
        ):
            return Answer(response.status, response.headers, await _start_of_body(response))
    except TimeoutError as error:
        message = f"There was no answer within {timeout_s:g} s."
        raise TransportError(Failure(FailureKind.TIMEOUT, message, "Answer first and work afterwards.")) from error


async def _start_of_body(response: Response) -> bytes:
    body = bytearray()
    async for piece in response.chunks():
        body += piece
        if len(body) >= MAX_ANSWER_BYTES:
            break
    return bytes(body[:MAX_ANSWER_BYTES])
