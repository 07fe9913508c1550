"""Calls of tools in an answer's text, found as the text comes in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

from reference_engine.tool_calls.family import Family
from reference_engine.tool_calls.form import Body, Form, Place, WrittenCall
from reference_engine.tool_calls.hermes import hermes_form
from reference_engine.tool_calls.llama3 import Llama3Form
from reference_engine.tool_calls.mistral import mistral_form
from reference_engine.tool_calls.parsed import Malformed, Parsed, ToolCall
from reference_engine.tool_calls.written_json import NotACall

_FORMS: Mapping[Family, Callable[[], Form]] = {"hermes": hermes_form, "llama3": Llama3Form, "mistral": mistral_form}
_WHITE = " \t\r\n"
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")


class CallParser:
    """Reads one answer. What it gives for the pieces adds up to what it gives for the whole, however it was cut.

    A call is given when it is complete and its text is content until then only if it turns out to be none, so no part
    of a marker is ever shown. White space alone before, between and after calls is no content. Ids are a function of
    `answer_id` and the call's number; Mistral's own are kept where they have the nine characters it asks for.
    """

    def __init__(self, family: Family, answer_id: str) -> None:
        self._family = family
        self._form = _FORMS[family]()
        self._answer_id = answer_id
        self._ids: list[str] = []
        self._place: Place = "start"
        self._blank = ""
        self._pending = ""
        self._opening = ""
        self._body: Body | None = None

    def feed(self, piece: str) -> Parsed:
        """What the text so far settles beyond what was given before."""
        self._pending += piece
        return self._settled(ended=False)

    def finish(self) -> Parsed:
        """The rest. The parser is used up."""
        rest = self._settled(ended=True)
        return rest if self._ids else rest + Parsed(self._blank)

    def _settled(self, *, ended: bool) -> Parsed:
        parsed = Parsed()
        while (step := self._step(ended=ended)) is not None:
            parsed += step
        return parsed

    def _step(self, *, ended: bool) -> Parsed | None:
        if self._body is not None:
            return self._read_call(self._body, ended=ended)
        found = self._form.opening(self._pending, self._place)
        if found is not None:
            start, end = found
            self._opening = self._pending[start:end]
            self._body = self._form.body(self._opening)
            return Parsed(self._shown(start))
        held = 0 if ended else self._form.held(self._pending, self._place)
        length = len(self._pending) - held
        return Parsed(self._shown(length)) if length else None

    def _read_call(self, body: Body, *, ended: bool) -> Parsed | None:
        text = self._pending[len(self._opening) :]
        try:
            found = body.read(text, ended=ended)
        except NotACall as finding:
            return self._left_as_text(text[: body.at], finding.reason)
        if found is None:
            return None
        self._pending = text[found.end :]
        self._body, self._place, self._blank = None, "after_call", ""
        return Parsed(calls=tuple(map(self._with_id, found.calls)))

    def _left_as_text(self, begun: str, reason: str | None) -> Parsed:
        """The opening alone is settled as content: a call may begin in what was read as the body of this one."""
        malformed = () if reason is None else (Malformed(self._opening + begun, reason),)
        content = self._blank + self._opening
        self._pending = self._pending[len(self._opening) :]
        self._body, self._place, self._blank = None, "text", ""
        return Parsed(content, malformed=malformed)

    def _shown(self, length: int) -> str:
        """Takes so much of what is pending as content; white space at the start of a text waits for what follows."""
        text, self._pending = self._pending[:length], self._pending[length:]
        if self._place != "text":
            text, self._blank = self._blank + text, ""
            if not text.strip(_WHITE):
                self._blank = text
                return ""
            self._place = "text"
        return text

    def _with_id(self, call: WrittenCall) -> ToolCall:
        own = call.id if self._family == "mistral" and _MISTRAL_ID.fullmatch(call.id or "") else None
        if own is None or own in self._ids:
            own = call_id(self._family, self._answer_id, len(self._ids))
        self._ids.append(own)
        return ToolCall(own, call.name, call.arguments)


def parse_calls(family: Family, answer_id: str, text: str) -> Parsed:
    """The whole answer at once."""
    parser = CallParser(family, answer_id)
    return parser.feed(text) + parser.finish()


def call_id(family: Family, answer_id: str, index: int) -> str:
    """Nine letters and digits for Mistral, whose template refuses others; OpenAI's form for the rest."""
    digest = hashlib.sha256(f"{answer_id}\n{index}".encode()).hexdigest()
    return digest[:9] if family == "mistral" else f"call_{digest[:24]}"
