"""Reads a stored exchange again, as it was read when it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.store import Exchange
from probes.completion import Completion, Endpoint
from probes.reader import read


def path_of(request: Mapping[str, Any]) -> Endpoint:
    """Where a stored request was sent to: its form tells."""
    return "/v1/completions" if "prompt" in request and "messages" not in request else "/v1/chat/completions"


def last_completion(exchange: Exchange) -> Completion | None:
    """The last answer, normalised; None where none came, or not all of it is kept."""
    last = exchange.answers[-1] if exchange.answers else None
    if last is None or last.http_status is None or not last.whole:
        return None
    return read(
        exchange.request,
        endpoint=path_of(exchange.request),
        http_status=last.http_status,
        headers=last.headers,
        body=last.body,
        timings=exchange.timings,
    )
