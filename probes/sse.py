"""Server-sent events from bytes that come in any pieces: lines end with LF, CRLF or CR, one BOM is dropped."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_LF, _CR = 0x0A, 0x0D
_LINE_END = re.compile(rb"[\r\n]")


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched block. `data` joins its data lines with LF, undecoded; `whole` is False where the bytes ended
    inside its last line."""

    data: bytes
    whole: bool = True


class EventDecoder:
    """Feed it bytes as they come, then `finish` it once. `comments` counts comment lines, which carry no event."""

    def __init__(self) -> None:
        self.comments = 0
        self._started = False
        self._line = bytearray()
        self._after_cr = False
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete."""
        events: list[Event] = []
        position = 0
        while position < len(data):
            if self._after_cr and data[position] == _LF:
                position += 1
            self._after_cr = False
            found = _LINE_END.search(data, position)
            end = found.start() if found else len(data)
            self._line += data[position:end]
            if end < len(data):
                self._after_cr = data[end] == _CR
                self._end_line(events)
            position = end + 1
        return events

    def finish(self) -> list[Event]:
        """The event that the end of the bytes leaves open: many servers omit the last blank line."""
        whole = not self._line
        events: list[Event] = []
        if not whole:
            self._end_line(events)
        self._dispatch(events, whole=whole)
        return events

    def _end_line(self, events: list[Event]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(events, whole=True)
        elif line.startswith(b":"):
            self.comments += 1
        else:
            self._field(line)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))

    def _dispatch(self, events: list[Event], *, whole: bool) -> None:
        if self._data:
            events.append(Event(b"\n".join(self._data), whole))
        self._data = []
