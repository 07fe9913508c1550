"""JSON as a model writes it: where it ends while it is still coming in, and its parts without a change of a letter."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 128
_CLOSING = {"{": "}", "[": "]"}
_SPACE = re.compile(r"[ \t\r\n]*")
_BETWEEN = re.compile(r"[ \t\r\n:,0-9+\-.Eaeflnrstu]*")
_IN_STRING = re.compile(r'[^"\\\x00-\x1f]*')
# Numbers stay text: an integer of ten thousand digits is JSON, and Python refuses to read it.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


class NotACall(Exception):  # noqa: N818  a finding about the text, not a failure
    """`reason` is None where the text does not even look like a call."""

    def __init__(self, reason: str | None) -> None:
        super().__init__(reason)
        self.reason = reason


def check_goes_on(*, ended: bool) -> None:
    """Where more text is needed. Raises NotACall where there is none."""
    if ended:
        raise NotACall("the answer ends inside the call")


class JsonExtent:
    """Finds the end of one JSON object or array in a text that grows; each letter is looked at once."""

    def __init__(self, opener: str) -> None:
        self._opener = opener
        self._open: list[str] = []
        self._in_string = False
        self._end: int | None = None
        self.at = 0

    def end(self, text: str, *, ended: bool) -> int | None:
        """The index after the value, or None while it may go on. Raises NotACall as soon as it is no JSON."""
        while self._end is None and self.at < len(text):
            if not self._open:
                self._start(text)
            elif self._in_string:
                self._leave_string(text)
            else:
                self._step(text)
        if self._end is None:
            check_goes_on(ended=ended)
        return self._end

    def _start(self, text: str) -> None:
        self.at = after_space(text, self.at)
        if self.at == len(text):
            return
        if text[self.at] != self._opener:
            raise NotACall(f"no {self._opener} stands where the JSON should begin")
        self._open.append(self._opener)
        self.at += 1

    def _leave_string(self, text: str) -> None:
        """Goes on behind the string's end or an escape, whose letter may be still to come."""
        self.at = _run_end(_IN_STRING, text, self.at)
        if self.at == len(text):
            return
        match text[self.at]:
            case '"':
                self._in_string = False
                self.at += 1
            case "\\":
                self.at += 2
            case _:
                raise NotACall("a string holds a control character")

    def _step(self, text: str) -> None:
        """Goes on to the next bracket or string."""
        self.at = _run_end(_BETWEEN, text, self.at)
        if self.at == len(text):
            return
        letter = text[self.at]
        if letter == '"':
            self._in_string = True
        elif letter in _CLOSING:
            if len(self._open) == MAX_DEPTH:
                raise NotACall(f"the JSON is nested deeper than {MAX_DEPTH}")
            self._open.append(letter)
        elif letter != _CLOSING[self._open[-1]]:
            raise NotACall("it is not JSON")
        else:
            self._open.pop()
        self.at += 1
        if not self._open:
            self._end = self.at


def check_json(text: str) -> None:
    """Raises NotACall where a text that ends as JSON does is none."""
    _value(text, 0)


def members(text: str) -> dict[str, str]:
    """The members of a whole JSON object, each value as it was written. Raises NotACall."""
    found: dict[str, str] = {}
    at = _first_item(text)
    while text[at] != "}":
        key, after = _value(text, at)
        colon = after_space(text, after)
        if text[at] != '"' or text[colon] != ":":
            raise NotACall("it is not JSON")
        if key in found:
            raise NotACall(f"the member {key!r} stands there twice")
        start = after_space(text, colon + 1)
        _, end = _value(text, start)
        found[key] = text[start:end]
        at = _next_item(text, end, "}")
    return found


def elements(text: str) -> list[str]:
    """The elements of a whole JSON array, each as it was written. Raises NotACall."""
    found: list[str] = []
    at = _first_item(text)
    while text[at] != "]":
        _, end = _value(text, at)
        found.append(text[at:end])
        at = _next_item(text, end, "]")
    return found


def text_of(written: str) -> str | None:
    """The string that a JSON value stands for; None where it is no string."""
    return _value(written, 0)[0] if written.startswith('"') else None


def _first_item(text: str) -> int:
    return after_space(text, after_space(text, 0) + 1)


def _next_item(text: str, at: int, closing: str) -> int:
    """Where the next item stands, or the closing bracket."""
    at = after_space(text, at)
    if text[at] == closing:
        return at
    following = after_space(text, at + 1)
    if text[at] != "," or text[following] == closing:
        raise NotACall("it is not JSON")
    return following


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except ValueError as error:
        raise NotACall("it is not JSON") from error


def after_space(text: str, at: int) -> int:
    return _run_end(_SPACE, text, at)


def _run_end(run: re.Pattern[str], text: str, at: int) -> int:
    match = run.match(text, at)
    return at if match is None else match.end()
