"""Reads YAML into plain data and remembers the line of every key, so that each problem can name its place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import yaml
from yaml.constructor import ConstructorError

from monitor.config.problems import KeyPath, Problem, dotted

MAX_DEPTH = 32

_TAGGED = "a YAML tag (!) is not supported here"
_QUOTED_TEXT = re.compile(r"'(?!<)[^']*'")

_SCALARS = {f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "null")}
_TEXT = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"}


@dataclass(frozen=True, slots=True)
class Document:
    """`data` is made of dicts with text keys, lists and scalars. `lines` has the line (from 1) of each key and item."""

    data: object
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int | None:
        """The line of `path`, or of the nearest key around it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None

    def problem(self, path: KeyPath, message: str) -> Problem:
        return Problem(self.line(path), dotted(path), message)


class DocumentError(Exception):
    """The text is no document at all; holds what is wrong."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)


class _Refused(yaml.YAMLError):
    """Well-formed YAML that a configuration file has no use for."""

    def __init__(self, message: str, event: yaml.Event) -> None:
        super().__init__(message)
        self.problem = Problem(None if event.start_mark is None else event.start_mark.line + 1, "", message)


class _Loader(yaml.SafeLoader):
    # A date would be the one scalar that JSON, in which extra_body is sent, cannot hold.
    yaml_implicit_resolvers = {  # noqa: RUF012 - the attribute is PyYAML's
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _SCALARS]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            raise _Refused("anchors and aliases (& and *) are not supported", event)
        if self._depth >= MAX_DEPTH:
            raise _Refused(f"is nested deeper than {MAX_DEPTH} levels", event)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


@dataclass(slots=True)
class _Builder:
    """Walks the node tree; collects data, lines and problems."""

    loader: _Loader
    lines: dict[KeyPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def build(self, node: yaml.Node, path: KeyPath) -> object:
        match node:
            case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
                return self._mapping(node, path)
            case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
                return self._sequence(node, path)
            case yaml.ScalarNode():
                return self._scalar(node, path)
        self._refuse(node, path, _TAGGED)
        return None

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        data: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(key_node, path, "a key must be text")
                continue
            # As it is written: `on`, `1.10` and `~` are keys like any other.
            key = key_node.value
            inner = (*path, key)
            if key in data:
                first = self.lines[inner]
                self._refuse(key_node, inner, f"the key is there twice, first on line {first}; keep one")
                continue
            self.lines[inner] = key_node.start_mark.line + 1
            data[key] = self.build(value_node, inner)
        return data

    def _sequence(self, node: yaml.SequenceNode, path: KeyPath) -> list[object]:
        data: list[object] = []
        for index, item in enumerate(node.value):
            self.lines[(*path, index)] = item.start_mark.line + 1
            data.append(self.build(item, (*path, index)))
        return data

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> object:
        if node.tag in _TEXT:
            return node.value
        if node.tag not in _SCALARS:
            self._refuse(node, path, _TAGGED)
            return None
        try:
            return self.loader.construct_object(node)
        except (ValueError, KeyError, ConstructorError):
            self._refuse(node, path, "is neither a number, true, false nor null; put text in quotes")
            return None

    def _refuse(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        self.problems.append(Problem(node.start_mark.line + 1, dotted(path), message))


def parse_document(text: str) -> Document:
    """Parse one YAML document. Raises DocumentError, whose problems never quote a value of the text."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        problem = _syntax_problem(error, text)
    else:
        builder = _Builder(loader)
        data = None if node is None else builder.build(node, ())
        if builder.problems:
            raise DocumentError(builder.problems)
        return Document(data, {(): 1, **builder.lines})
    raise DocumentError([problem])


def _syntax_problem(error: yaml.YAMLError, text: str) -> Problem:
    if isinstance(error, _Refused):
        return error.problem
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return Problem(line, "", "holds a control character that YAML does not allow")
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Problem(None, "", "is not valid YAML")
    mark = error.problem_mark
    # PyYAML's words may quote the file, and its excerpt does: a key may stand there.
    reason = _QUOTED_TEXT.sub(lambda match: match[0] if len(match[0]) <= 4 else "'…'", str(error.problem))
    message = f"is not valid YAML at column {mark.column + 1}: {reason}"
    lines = text.splitlines()
    if any("${" in line for line in lines[max(0, mark.line - 1) : mark.line + 1]):
        message += '; inside { } or [ ] a reference needs quotes: "${env:NAME}"'
    elif any("\t" in line for line in lines[mark.line : mark.line + 1]):
        message += "; indent with spaces, not with tabs"
    return Problem(mark.line + 1, "", message)
