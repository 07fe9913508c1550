"""One try: a message to its receiver, over the guarded network, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from monitor import clock
from monitor.deliveries import apprise_channel
from monitor.deliveries.attempt import Tried
from monitor.deliveries.destination import Destination
from monitor.deliveries.formats import Body
from monitor.deliveries.signature import signed_headers
from probes.address import AddressPolicy, policy_for
from probes.clock import SystemClock
from probes.errors import AddressForbiddenError
from probes.post import TIMEOUT_S, Answer, post_once
from probes.transport import Transport
from probes.transport_failure import TransportError

CONNECT_TIMEOUT_S = 5.0

Open = Callable[[AddressPolicy], Transport]


def open_transport(policy: AddressPolicy) -> Transport:
    """A connection for one message."""
    return Transport(policy, clock=SystemClock(), max_connections=1, connect_timeout_s=CONNECT_TIMEOUT_S)


def send(
    destination: Destination,
    message_id: str,
    body: Body,
    at: datetime,
    *,
    transport: Open = open_transport,
    timeout_s: float = TIMEOUT_S,
) -> Tried:
    """Try once, at `at` as the signature says. Whatever goes wrong on the way is in what it returns."""
    if destination.kind == "apprise":
        return apprise_channel.send(destination, body)
    secrets = [secret.get_secret_value() for secret in destination.secrets]
    headers = {
        "Content-Type": body.content_type,
        "User-Agent": "endpoint-monitor",
        **signed_headers(message_id, body.content, secrets, at),
    }
    started = clock.monotonic()
    try:
        answer = asyncio.run(
            post_once(
                transport(policy_for(destination.allow_private)),
                destination.url.get_secret_value(),
                headers=headers,
                content=body.content,
                timeout_s=timeout_s,
            )
        )
    except (TransportError, AddressForbiddenError) as error:
        return Tried(error=error.message, milliseconds=_since(started))
    return _answered(answer, _since(started))


def _answered(answer: Answer, milliseconds: float) -> Tried:
    return Tried(
        http_status=answer.status,
        response=answer.body.decode("utf-8", "replace"),
        retry_after=answer.headers.get("retry-after"),
        milliseconds=milliseconds,
    )


def _since(started: float) -> float:
    return (clock.monotonic() - started) * 1000
