"""Chat templates: a conversation turned into the model's text by the template that the model file carries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reference_engine.errors import EngineRequestError
from reference_engine.interface import Message, Tool, ToolsRendered
from reference_engine.template import TEMPLATE_REMEDY, render_template, template_facts
from reference_engine.tool_calls.hermes_block import hermes_block, in_hermes_form

PINNED_DATE = datetime(2024, 7, 26)  # noqa: DTZ001  the date Llama 3's own template falls back to
_MARK = "\ue000"


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A template with what it may refer to: the special tokens by their roles' names, and today's date.

    `source` is None where the model file has no template; rendering then needs one given with the request.
    """

    source: str | None
    special_tokens: Mapping[str, str]
    today: datetime = PINNED_DATE

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> str:
        """The conversation's text. Raises EngineRequestError for a bad template and for messages it refuses.

        A template that knows no tools is given them, their calls and their results in Hermes' form.
        """
        source = self._source(chat_template)
        if not messages:
            raise EngineRequestError("There are no messages to render.", remedy="Give at least one message.")
        told = self._told(source, [_plain(message) for message in messages], tools)
        return self._rendered(source, told, tools, add_generation_prompt=add_generation_prompt)

    def tools_rendered(self, tools: Sequence[Tool] | None, *, chat_template: str | None = None) -> ToolsRendered:
        """Who tells the model of `tools` when they are rendered."""
        if not tools:
            return "none"
        return "template" if template_facts(self._source(chat_template)).reads_tools else "hermes"

    def default_system_prompt(self, *, chat_template: str | None = None) -> str | None:
        """What the template says in the system's place when no system message is given; None where it says nothing."""
        try:
            source = self._source(chat_template)
            given = self._rendered(source, _conversation(system=f"{_MARK}system{_MARK}"))
            bare = self._rendered(source, _conversation())
        except EngineRequestError:
            return None
        before, found, after = given.partition(f"{_MARK}system{_MARK}")
        if not found or not bare.startswith(before) or not bare.endswith(after):
            return None
        return bare[len(before) : len(bare) - len(after)] or None

    def _source(self, chat_template: str | None) -> str:
        source = self.source if chat_template is None else chat_template
        if source is None:
            raise EngineRequestError(
                "The model file has no chat template.", remedy="Give one with the request, or use a chat model."
            )
        return source

    def _told(
        self, source: str, messages: list[dict[str, Any]], tools: Sequence[Tool] | None
    ) -> Sequence[Mapping[str, Any]]:
        facts = template_facts(source)
        if facts.reads_tools or (facts.reads_calls and not tools):
            return [_with_parsed_calls(message) for message in messages]
        told = in_hermes_form(messages)
        return self._with_block(source, told, hermes_block(tools)) if tools else told

    def _with_block(self, source: str, messages: list[dict[str, Any]], block: str) -> list[dict[str, Any]]:
        """The block ends the system message; it begins the first other one where the template shows no system's."""
        if not self._shows_system(source):
            first = next((at for at, message in enumerate(messages) if message["role"] == "user"), 0)
            return [*messages[:first], _begun_by(block, messages[first]), *messages[first + 1 :]]
        if messages[0]["role"] != "system":
            default = self.default_system_prompt(chat_template=source) or ""
            messages = [{"role": "system", "content": default}, *messages]
        return [_ended_by(block, messages[0]), *messages[1:]]

    def _shows_system(self, source: str) -> bool:
        try:
            return _MARK in self._rendered(source, _conversation(system=_MARK))
        except EngineRequestError:
            return False

    def _rendered(
        self,
        source: str,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Tool] | None = None,
        *,
        add_generation_prompt: bool = True,
    ) -> str:
        variables: dict[str, Any] = {
            **self.special_tokens,
            "messages": messages,
            "tools": list(tools) if tools else None,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
            "strftime_now": self.today.strftime,
        }
        return render_template(source, variables)


def _begun_by(block: str, message: Mapping[str, Any]) -> dict[str, Any]:
    return {**message, "content": _paragraphs(block, message.get("content"))}


def _ended_by(block: str, message: Mapping[str, Any]) -> dict[str, Any]:
    return {**message, "content": _paragraphs(message.get("content"), block)}


def _paragraphs(*parts: Any) -> str:
    return "\n\n".join(str(part) for part in parts if part)


def _conversation(*, system: str | None = None) -> list[dict[str, Any]]:
    """The shortest one there is, to see what a template makes of it."""
    question = {"role": "user", "content": "user"}
    return [question] if system is None else [{"role": "system", "content": system}, question]


def _plain(message: Message) -> dict[str, Any]:
    """The message as templates expect it, content parts joined to text.

    Keys without a value are left out: clients send `content: null`, and templates ask whether a key is there.
    """
    plain = {key: value for key, value in message.items() if value is not None}
    if "role" not in plain:
        raise EngineRequestError("A message has no 'role'.", remedy=TEMPLATE_REMEDY)
    if isinstance(plain.get("content"), (list, tuple)):
        plain["content"] = "".join(_text_of(part) for part in plain["content"])
    if not isinstance(plain.get("tool_calls", []), (list, tuple)):
        raise EngineRequestError("The tool_calls of a message are no list.", remedy=TEMPLATE_REMEDY)
    return plain


def _with_parsed_calls(message: dict[str, Any]) -> dict[str, Any]:
    if not message.get("tool_calls"):
        return message
    return message | {"tool_calls": [_with_parsed_arguments(call) for call in message["tool_calls"]]}


def _text_of(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    raise EngineRequestError(f"A message has a content part of type {kind!r}.", remedy="Use text parts only.")


def _with_parsed_arguments(call: Any) -> Any:
    """OpenAI's wire format carries arguments as a JSON text; templates write them out as JSON themselves."""
    if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
        return call
    function = dict(call["function"])
    if isinstance(function.get("arguments"), str):
        try:
            function["arguments"] = json.loads(function["arguments"] or "{}")
        except ValueError:
            return call
    return {**call, "function": function}
