"""Mistral: `[TOOL_CALLS][{…}, …]`, and since its eleventh tokenizer `[TOOL_CALLS]name[ARGS]{…}` for each call."""

from __future__ import annotations

import re

from reference_engine.tool_calls.form import Body, Found, MarkedForm, WrittenCall, written_call
from reference_engine.tool_calls.written_json import (
    JsonExtent,
    NotACall,
    after_space,
    check_goes_on,
    check_json,
    elements,
)

OPENING, ARGUMENTS, CALL_ID = "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"
MARKERS = (OPENING, ARGUMENTS, CALL_ID)
_LONGEST_HEAD = 300
_HEAD_END = re.compile(r'\[ARGS\]|[{}"\n]')
_HEAD = re.compile(r"[ \t]*(?P<name>[^\[\]]*[^\[\]\s])[ \t]*(?:\[CALL_ID\](?P<id>[^\[\]]*))?\[ARGS\]")


class _MistralBody:
    """Its first letter tells the two ways apart."""

    def __init__(self) -> None:
        self._inner: Body | None = None
        self.at = 0

    def read(self, text: str, *, ended: bool) -> Found | None:
        if self._inner is None:
            start = after_space(text, 0)
            if start == len(text):
                self.at = start
                check_goes_on(ended=ended)
                return None
            self._inner = _ListedCalls() if text[start] == "[" else _NamedCall()
        try:
            return self._inner.read(text, ended=ended)
        finally:
            self.at = self._inner.at


class _ListedCalls:
    def __init__(self) -> None:
        self._array = JsonExtent("[")

    @property
    def at(self) -> int:
        return self._array.at

    def read(self, text: str, *, ended: bool) -> Found | None:
        end = self._array.end(text, ended=ended)
        if end is None:
            return None
        written = elements(text[:end])
        if not written or not all(one.startswith("{") for one in written):
            raise NotACall("its array holds other things than calls, or nothing")
        return Found(end, tuple(written_call(one, "arguments", also=("id",)) for one in written))


class _NamedCall:
    def __init__(self) -> None:
        self._head: WrittenCall | None = None
        self._head_length = 0
        self._object = JsonExtent("{")
        self.at = 0

    def read(self, text: str, *, ended: bool) -> Found | None:
        if self._head is None:
            stop = _HEAD_END.search(text, 0, _LONGEST_HEAD)
            if stop is None and len(text) < _LONGEST_HEAD:
                self.at = len(text)
                check_goes_on(ended=ended)
                return None
            self.at = self._head_length = _LONGEST_HEAD if stop is None else stop.end()
            self._head = _read_head(text[: self._head_length])
        body = text[self._head_length :]
        try:
            end = self._object.end(body, ended=ended)
        finally:
            self.at = self._head_length + self._object.at
        if end is None:
            return None
        arguments = body[after_space(body, 0) : end]
        check_json(arguments)
        return Found(self._head_length + end, (WrittenCall(self._head.name, arguments, self._head.id),))


def _read_head(text: str) -> WrittenCall:
    head = _HEAD.fullmatch(text)
    if head is None or not head["name"].isprintable():
        raise NotACall("no name and [ARGS] follow")
    return WrittenCall(head["name"], "", head["id"])


def mistral_form() -> MarkedForm:
    return MarkedForm(OPENING, MARKERS, _MistralBody)
