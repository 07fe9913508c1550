"""Chat templates: a conversation turned into the model's text by the template that the model file carries.

The environment is the one transformers renders with, in Jinja's sandbox. Templates come from model files and requests,
so what they can spend is bounded too: loop lengths, repetition, and the length of the text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2.ext import Extension
from jinja2.nodes import CallBlock, Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from reference_engine.errors import EngineRequestError
from reference_engine.interface import Message, Tool

PINNED_DATE = datetime(2024, 7, 26)  # noqa: DTZ001  the date Llama 3's own template falls back to
_MAX_CHARACTERS = 4_000_000
_MAX_RANGE_STEPS = 1_000_000
_REMEDY = "Correct the chat template or the messages."


class _Generation(Extension):
    """`{% generation %}…{% endgeneration %}`, which marks the model's own words; rendering just shows them."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return CallBlock(self.call_method("_shown"), [], [], body).set_lineno(line)

    def _shown(self, caller: Callable[[], str]) -> str:
        return caller()


class _Environment(ImmutableSandboxedEnvironment):
    """Refuses products and powers that would make a template's text or number grow without bound."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**":
            raise jinja2.exceptions.SecurityError("powers are not allowed in a chat template")
        for sequence, count in ((left, right), (right, left)):
            repeats = isinstance(sequence, (str, list, tuple)) and isinstance(count, int)
            if repeats and len(sequence) * count > _MAX_CHARACTERS:
                raise jinja2.exceptions.SecurityError(f"a repetition of more than {_MAX_CHARACTERS} items")
        return super().call_binop(context, operator, left, right)


def _refuse(message: str) -> NoReturn:
    raise jinja2.exceptions.TemplateError(message)


class _RangeBudget:
    """`range` for one rendering: all its loops together may take so many steps, however they are nested."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def range(self, *bounds: int) -> range:
        steps = range(*bounds)
        self._left -= len(steps)
        if self._left < 0:
            raise jinja2.exceptions.SecurityError(f"loops of more than {_MAX_RANGE_STEPS} steps")
        return steps


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@lru_cache(maxsize=1)
def _environment() -> _Environment:
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    return environment


@lru_cache(maxsize=32)
def _compiled(source: str) -> jinja2.Template:
    try:
        return _environment().from_string(source)
    except jinja2.TemplateError as error:
        raise EngineRequestError(f"The chat template does not compile: {error}.", remedy=_REMEDY) from error


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
        """The conversation's text. Raises EngineRequestError for a bad template and for messages it refuses."""
        source = self.source if chat_template is None else chat_template
        if source is None:
            raise EngineRequestError(
                "The model file has no chat template.", remedy="Give one with the request, or use a chat model."
            )
        if not messages:
            raise EngineRequestError("There are no messages to render.", remedy="Give at least one message.")
        variables: dict[str, Any] = {
            **self.special_tokens,
            "messages": [_plain(message) for message in messages],
            "tools": list(tools) if tools else None,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
            "strftime_now": self.today.strftime,
            "range": _RangeBudget(_MAX_RANGE_STEPS).range,
        }
        template = _compiled(source)
        try:
            return _joined(template.generate(variables))
        except jinja2.TemplateError as error:
            raise EngineRequestError(f"The chat template refused: {error}.", remedy=_REMEDY) from error
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            raise EngineRequestError(f"The chat template failed: {error}.", remedy=_REMEDY) from error

    def default_system_prompt(self) -> str | None:
        """What the template says in the system's place when no system message is given; None where it says nothing."""
        user, system = "\ue000user\ue000", "\ue000system\ue000"
        question = {"role": "user", "content": user}
        try:
            given = self.render([{"role": "system", "content": system}, question])
            bare = self.render([question])
        except EngineRequestError:
            return None
        before, found, after = given.partition(system)
        if not found or not bare.startswith(before) or not bare.endswith(after):
            return None
        return bare[len(before) : len(bare) - len(after)] or None


def _joined(pieces: Iterable[str]) -> str:
    text, length = [], 0
    for piece in pieces:
        length += len(piece)
        if length > _MAX_CHARACTERS:
            _refuse(f"the text is longer than {_MAX_CHARACTERS} characters")
        text.append(piece)
    return "".join(text)


def _plain(message: Message) -> dict[str, Any]:
    """The message as templates expect it: content parts joined to text, tool-call arguments as objects.

    Keys without a value are left out: clients send `content: null`, and templates ask whether a key is there.
    """
    plain = {key: value for key, value in message.items() if value is not None}
    if "role" not in plain:
        raise EngineRequestError("A message has no 'role'.", remedy=_REMEDY)
    if isinstance(plain.get("content"), (list, tuple)):
        plain["content"] = "".join(_text_of(part) for part in plain["content"])
    if plain.get("tool_calls"):
        plain["tool_calls"] = [_with_parsed_arguments(call) for call in plain["tool_calls"]]
    return plain


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
