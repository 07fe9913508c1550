"""Reads the list of models an endpoint serves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from probes.errors import ProviderProtocolError


def model_names(body: bytes, place: str) -> list[str]:
    """The names in a /models answer: OpenAI's {"data": [{"id": …}]}, a bare list, or {"models": [{"name": …}]}.

    Raises ProviderProtocolError where there are none.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    names = list(_names(value))
    if not names:
        remedy = "Check base_url; some providers have no such list, which is no fault."
        raise ProviderProtocolError(f"{place} lists no models at /models.", remedy=remedy)
    return names


def _names(value: Any) -> Iterator[str]:
    entries = value
    if isinstance(value, Mapping):
        entries = value.get("data") or value.get("models")
    for entry in entries if isinstance(entries, list) else []:
        name = entry.get("id") or entry.get("name") if isinstance(entry, Mapping) else entry
        if isinstance(name, str) and name:
            yield name
