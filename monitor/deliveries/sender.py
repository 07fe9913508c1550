"""One try: a message to its receiver, over the guarded network, and what came of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import datetime
from urllib.parse import unquote

from monitor import clock
from monitor.deliveries import apprise_channel
from monitor.deliveries.attempt import Tried
from monitor.deliveries.destination import Destination
from monitor.deliveries.formats import Body
from monitor.deliveries.signature import signed_headers
from monitor.redaction import REDACTED, KnownSecrets
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
    url = destination.url.get_secret_value()
    started = clock.monotonic()
    try:
        answer = asyncio.run(
            post_once(
                transport(policy_for(destination.allow_private)),
                url,
                headers=headers,
                content=body.content,
                timeout_s=timeout_s,
            )
        )
    except TransportError as error:
        return Tried(error=_without_parts(url, error.message), milliseconds=_since(started))
    except AddressForbiddenError as error:
        told = f"{error.message} {error.remedy or ''}".rstrip()
        return Tried(error=_without_parts(url, told), milliseconds=_since(started))
    return _answered(answer, url, _since(started))


def _answered(answer: Answer, url: str, milliseconds: float) -> Tried:
    return Tried(
        http_status=answer.status,
        response=_without_parts(url, answer.body.decode("utf-8", "replace")),
        retry_after=answer.headers.get("retry-after"),
        milliseconds=milliseconds,
    )


def _without_parts(url: str, text: str) -> str:
    """`text` without the path and the query of a webhook, which may be its secret, and without any part of them that is
    long enough to be one, in whatever case and spelling the receiver names them."""
    # By hand, since whatever was given as a URL comes here, also what is none.
    place = re.sub("^[^/?#]*//[^/?#]*", "", url)
    path, _, query = place.partition("?")
    parts = KnownSecrets()
    for part in (path, query, *re.split("[/?&=#]", place)):
        parts.add(part)
        parts.add(unquote(part))
    longest_first = sorted(parts, key=len, reverse=True)
    if not longest_first:
        return text
    return re.sub("|".join(map(re.escape, longest_first)), REDACTED, text, flags=re.IGNORECASE)


def _since(started: float) -> float:
    return (clock.monotonic() - started) * 1000
