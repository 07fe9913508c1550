"""A message as a receiver has it: headers and body, from a file or a connection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitor.errors import UsageError


@dataclass(frozen=True, slots=True)
class Incoming:
    """Header names are lower case."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Mapping[str, Any]:
        """The body as JSON; empty where it is none."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def read_message(raw: bytes) -> Incoming:
    """Header lines, an empty line, and the body to its last byte; a request line before them is passed over."""
    for separator in (b"\r\n\r\n", b"\n\n"):
        head, found, body = raw.partition(separator)
        if found:
            break
    else:
        raise UsageError("This is no message.", remedy="Give the header lines, an empty line, and then the body.")
    pairs = [line.partition(":") for line in head.decode("latin-1").splitlines()]
    return Incoming({name.strip().lower(): value.strip() for name, colon, value in pairs if colon}, body)
