"""Tells an answer that is coming from a connection that is merely kept open."""

from __future__ import annotations

# Lines of an event stream that carry no data. A line is judged by its first bytes.
_IDLE_FIELDS = (b":", b"event:", b"id:", b"retry:")
_ENOUGH = max(len(field) for field in _IDLE_FIELDS)


class Progress:
    """Fed the body piece by piece. Blank lines and stream comments, which gateways send as keep-alives before any
    kind of answer, are no progress; a line that is anything else is, a JSON body's included."""

    def __init__(self) -> None:
        self._line = b""

    def saw(self, piece: bytes) -> bool:
        """Whether this piece brought a part of an answer."""
        first, *rest = piece.replace(b"\r", b"\n").split(b"\n")
        self._line = (self._line + first).lstrip()[:_ENOUGH]
        moved = self._is_data(self._line)
        for line in rest:
            self._line = line.lstrip()[:_ENOUGH]
            moved = moved or self._is_data(self._line)
        return moved

    @staticmethod
    def _is_data(line: bytes) -> bool:
        undecided = any(field.startswith(line) for field in _IDLE_FIELDS)
        return not undecided and not line.startswith(_IDLE_FIELDS)
