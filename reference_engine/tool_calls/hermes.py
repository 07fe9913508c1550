"""Hermes and Qwen: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, any number of times, text around them."""

from __future__ import annotations

from reference_engine.tool_calls.form import Found, MarkedForm, written_call
from reference_engine.tool_calls.written_json import JsonExtent, NotACall, after_space, check_goes_on

OPENING, CLOSING = "<tool_call>", "</tool_call>"
MARKERS = (OPENING, CLOSING)


class _HermesBody:
    def __init__(self) -> None:
        self._object = JsonExtent("{")

    @property
    def at(self) -> int:
        return self._object.at

    def read(self, text: str, *, ended: bool) -> Found | None:
        end = self._object.end(text, ended=ended)
        if end is None:
            return None
        closing_at = after_space(text, end)
        closing = text[closing_at : closing_at + len(CLOSING)]
        if closing == CLOSING:
            return Found(closing_at + len(CLOSING), (written_call(text[:end], "arguments"),))
        if not CLOSING.startswith(closing):
            raise NotACall(f"no {CLOSING} follows its JSON")
        check_goes_on(ended=ended)
        return None


def hermes_form() -> MarkedForm:
    return MarkedForm(OPENING, MARKERS, _HermesBody)
