"""Passes on what the children print, line by line, each with its child's name and without what looks like a key."""

from __future__ import annotations

import json
from collections.abc import Callable

from monitor.redaction import redact_known, safe_text

# Under which the supervisor itself speaks.
OWN_NAME = "up"
# A longer line is passed on in parts.
MOST_LINE_BYTES = 64 * 1024

Write = Callable[[str], None]
Form = Callable[[str, str], str]


def prefixed(name: str, line: str) -> str:
    """`web    | INFO …`"""
    return f"{name:<9} | {line}"


def as_json(name: str, line: str) -> str:
    """A line that is a JSON object already, as it is; any other in an object with its child's name."""
    if line.startswith("{") and line.endswith("}"):
        return line
    return json.dumps({"process": name, "message": line})


class Relay:
    """The lines of one child."""

    def __init__(self, name: str, form: Form, write: Write) -> None:
        self._name = name
        self._form = form
        self._write = write
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > MOST_LINE_BYTES:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._tell(line)

    def close(self) -> None:
        """Pass on what came without an end of line."""
        self.feed(b"\n" if self._rest else b"")

    def _tell(self, line: bytes) -> None:
        text = safe_text(redact_known(line.decode("utf-8", "replace"))).rstrip()
        if text:
            self._write(self._form(self._name, text) + "\n")
