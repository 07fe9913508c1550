"""Whether the broker answers, and whether the web process does."""

from __future__ import annotations

import re
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from monitor import clock

_WAIT_S = 2.0


def answers(broker_url: str) -> bool:
    """One PING; `broker_url` as Celery takes it."""
    # Here: a web process is asked this seldom, and weighs less without.
    from redis import Redis
    from redis.exceptions import RedisError

    # The client has other words for a socket and for how far a certificate is checked.
    url = broker_url.replace("redis+socket://", "unix://", 1)
    url = re.sub(r"(?<=ssl_cert_reqs=)CERT_(\w+)", lambda found: found[1].lower(), url)
    try:
        with Redis.from_url(url, socket_connect_timeout=_WAIT_S, socket_timeout=_WAIT_S) as client:
            return bool(client.ping())
    except (RedisError, OSError, ValueError):
        return False


def seconds_to_answer(url: str) -> float | None:
    """How long the service at `url` takes to say that it lives; None where it does not."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_WAIT_S)
    started = clock.monotonic()
    try:
        connection.request("GET", "/healthz")
        return clock.monotonic() - started if connection.getresponse().status == 200 else None
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
