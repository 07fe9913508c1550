"""The language of chat templates: Jinja as transformers renders with, sandboxed, and bounded in what it may spend.

Templates come from model files and requests, so loop lengths, repetition, and the length of the text are limited.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.meta import find_undeclared_variables
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from reference_engine.errors import EngineRequestError

TEMPLATE_REMEDY = "Correct the chat template or the messages."
_MAX_CHARACTERS = 4_000_000
_MAX_RANGE_STEPS = 1_000_000


class _Generation(Extension):
    """`{% generation %}…{% endgeneration %}`, which marks the model's own words; rendering just shows them."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_shown"), [], [], body).set_lineno(line)

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
    except (jinja2.TemplateError, RecursionError) as error:
        raise _uncompilable(error) from error


def _uncompilable(error: Exception) -> EngineRequestError:
    return EngineRequestError(f"The chat template does not compile: {error}.", remedy=TEMPLATE_REMEDY)


def render_template(source: str, variables: Mapping[str, Any]) -> str:
    """The template's text. Raises EngineRequestError for a bad template and for variables it refuses."""
    template = _compiled(source)
    counted = {**variables, "range": _RangeBudget(_MAX_RANGE_STEPS).range}
    try:
        return _joined(template.generate(counted))
    except jinja2.TemplateError as error:
        raise EngineRequestError(f"The chat template refused: {error}.", remedy=TEMPLATE_REMEDY) from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise EngineRequestError(f"The chat template failed: {error}.", remedy=TEMPLATE_REMEDY) from error


def _joined(pieces: Iterable[str]) -> str:
    text, length = [], 0
    for piece in pieces:
        length += len(piece)
        if length > _MAX_CHARACTERS:
            _refuse(f"the text is longer than {_MAX_CHARACTERS} characters")
        text.append(piece)
    return "".join(text)


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What a template reads, and `text`: all that it may write by itself, in order.

    `reads_tools`: the variable `tools` as it was given, on some path. `reads_calls`: the `tool_calls` of a message.
    """

    reads_tools: bool
    reads_calls: bool
    text: str


@lru_cache(maxsize=32)
def template_facts(source: str) -> TemplateFacts:
    """From the parsed template, so that comments and names in its text count for nothing. Raises EngineRequestError."""
    try:
        tree = _environment().parse(source)
        variables = find_undeclared_variables(tree)
    except (jinja2.TemplateError, RecursionError) as error:
        raise _uncompilable(error) from error
    literals = [data.data for data in tree.find_all(nodes.TemplateData)]
    constants = [const.value for const in tree.find_all(nodes.Const) if isinstance(const.value, str)]
    attributes = {got.attr for got in tree.find_all(nodes.Getattr)}
    return TemplateFacts(
        reads_tools="tools" in variables,
        reads_calls="tool_calls" in attributes or "tool_calls" in constants,
        text="\n".join((*literals, *constants)),
    )
