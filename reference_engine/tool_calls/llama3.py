"""Llama 3: `{"name": …, "parameters": {…}}` as the whole answer or after `<|python_tag|>`, several joined by `;`."""

from __future__ import annotations

import re

from reference_engine.tool_calls.form import Body, Found, Place, held_for, written_call
from reference_engine.tool_calls.written_json import JsonExtent, NotACall

TAG = "<|python_tag|>"
MARKERS = (TAG,)
_BARE = re.compile(r"[ \t\r\n]*(?=\{)")
_NEXT = re.compile(r"[ \t\r\n]*;[ \t\r\n]*(?=\{)")
_MAY_BE_NEXT = re.compile(r"[ \t\r\n]*;?[ \t\r\n]*\Z")
_MEMBERS = (re.compile(r'"name"\s*:'), re.compile(r'"parameters"\s*:'))


class Llama3Form:
    def __init__(self) -> None:
        self._body: type[_TaggedBody] = _BareBody

    def opening(self, text: str, place: Place) -> tuple[int, int] | None:
        if place == "start" and (bare := _BARE.match(text)):
            return bare.end(), bare.end()
        if place == "after_call" and (following := _NEXT.match(text)):
            return following.span()
        tag = text.find(TAG)
        return None if tag < 0 else (tag, tag + len(TAG))

    def held(self, text: str, place: Place) -> int:
        if place == "after_call" and _MAY_BE_NEXT.match(text):
            return len(text)
        return held_for(MARKERS, text)

    def body(self, opening: str) -> Body:
        if opening == TAG:
            self._body = _TaggedBody
        return self._body()


class _TaggedBody:
    def __init__(self) -> None:
        self._object = JsonExtent("{")

    @property
    def at(self) -> int:
        return self._object.at

    def read(self, text: str, *, ended: bool) -> Found | None:
        end = self._object.end(text, ended=ended)
        return None if end is None else Found(end, (written_call(text[:end], "parameters", also=("type",)),))


class _BareBody(_TaggedBody):
    """Nothing but its place marks the first object as a call, so nothing but calls may stand in the answer."""

    def read(self, text: str, *, ended: bool) -> Found | None:
        try:
            found = super().read(text, ended=ended)
            if found is None or _NEXT.match(text, found.end):
                return found
            if _MAY_BE_NEXT.match(text, found.end):
                return self._last(found, text, ended=ended)
            raise NotACall("more than calls stands in the answer")
        except NotACall as finding:
            if all(member.search(text, 0, self.at) for member in _MEMBERS):
                raise
            raise NotACall(None) from finding

    def _last(self, found: Found, text: str, *, ended: bool) -> Found | None:
        if ended and text[found.end :].strip():
            raise NotACall("nothing follows its ;")
        return found if ended else None
