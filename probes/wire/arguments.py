"""Decodes the arguments of each call and judges them: invalid JSON, unknown tool, not an object, schema, value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from probes.completion import ToolCall
from probes.quirks import Quirk
from probes.wire.argument_text import (
    MAX_NESTING,
    as_whole_object,
    has_control_character,
    junk_before,
    parse_loosely,
    runs_away,
    second_copy,
)
from probes.wire.asked import Tool
from probes.wire.call_slots import CallSlot
from probes.wire.json_value import equal_json, nesting_of, parse_strict_json, strings_in
from probes.wire.stringified import Came, non_string_values
from probes.wire.surrogates import has_lone_surrogate, paired_json

_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """One call, read. `passes` is True where its tool is declared and accepts the arguments; `came` says how the values
    came that are no strings by the schema."""

    call: ToolCall
    quirks: frozenset[Quirk] = frozenset()
    passes: bool = False
    came: frozenset[Came] = frozenset()


@dataclass(frozen=True, slots=True)
class ArgumentJudge:
    """Judges the calls of one whole answer. `cut_by_length` is whether it ended for want of tokens."""

    tools: Mapping[str, Tool]
    expected: Mapping[str, Any] | None
    cut_by_length: bool

    def judge(self, slot: CallSlot, call_id: str) -> JudgedCall:
        """The call with the quirks of its arguments: one class of failure, and what explains it."""
        text, tool = slot.arguments, self.tools.get(slot.name)
        if text == "" and tool is not None and not tool.requires:
            return self._object(slot, call_id, {}, {Quirk.TC_ARGS_EMPTY})
        try:
            value = parse_strict_json(text)
        except ValueError:
            return self._broken(slot, call_id, text)
        if isinstance(value, dict) and nesting_of(text) <= MAX_NESTING:
            return self._object(slot, call_id, value, set())
        return self._other(slot, call_id, value)

    def _object(self, slot: CallSlot, call_id: str, value: dict[str, Any], quirks: set[Quirk]) -> JudgedCall:
        strings = list(strings_in(value))
        # Written as an escape within the text; one that stands there as it is was seen when its bytes came.
        if _REPLACEMENT not in slot.arguments and any(_REPLACEMENT in text for text in strings):
            quirks.add(Quirk.REPLACEMENT_CHAR)
        if any(map(has_control_character, strings)):
            quirks.add(Quirk.TC_ARGS_CONTROL_CHAR)
        if any(map(has_lone_surrogate, strings)):
            quirks.add(Quirk.LONE_SURROGATE)
        arguments = paired_json(value)
        failure = self._failure_of(slot.name, arguments)
        if failure is not None:
            quirks.add(failure)
        tool = self.tools.get(slot.name)
        came = frozenset(non_string_values(tool.schema.parameters, arguments)) if tool else frozenset[Came]()
        passes = failure in (None, Quirk.TC_VALUE_MISMATCH)
        return JudgedCall(_decoded(slot, call_id, arguments), frozenset(quirks), passes, came)

    def _failure_of(self, name: str, arguments: Mapping[str, Any]) -> Quirk | None:
        if name not in self.tools:
            return Quirk.TC_UNKNOWN_TOOL
        if not self.tools[name].schema.accepts(arguments):
            return Quirk.TC_SCHEMA_MISMATCH
        differs = self.expected is not None and not equal_json(arguments, dict(self.expected))
        return Quirk.TC_VALUE_MISMATCH if differs else None

    def _other(self, slot: CallSlot, call_id: str, value: object) -> JudgedCall:
        """Arguments that parse, but to no object, or to one too deep to be looked at."""
        failure = Quirk.TC_SCHEMA_MISMATCH if slot.name in self.tools else Quirk.TC_UNKNOWN_TOOL
        inner = as_whole_object(value) if isinstance(value, str) else None
        quirks = {failure} if inner is None else {failure, Quirk.TC_ARGS_DOUBLE_ENCODED}
        return JudgedCall(_undecoded(slot, call_id, inner), frozenset(quirks))

    def _broken(self, slot: CallSlot, call_id: str, text: str) -> JudgedCall:
        quirks = {Quirk.TC_ARGS_INVALID_JSON}
        if any(map(has_control_character, strings_in(parse_loosely(text)))):
            quirks.add(Quirk.TC_ARGS_CONTROL_CHAR)
        junk = junk_before(text)
        recovered = junk.rest if junk is not None else None
        if junk is not None:
            quirks.add(Quirk.TC_ARGS_PREFIX_JUNK)
        if self.cut_by_length and runs_away(text):
            quirks.add(Quirk.TC_REPETITION_RUNAWAY)
        elif (copy := second_copy(text)) is not None:
            quirks.add(Quirk.TC_ARGS_DUPLICATED)
            recovered = as_whole_object(copy)
        return JudgedCall(_undecoded(slot, call_id, recovered), frozenset(quirks))


def read_interrupted(slot: CallSlot, call_id: str) -> ToolCall:
    """The call of an answer that broke off: nothing is held against arguments that had no chance to be whole."""
    whole = as_whole_object(slot.arguments) if nesting_of(slot.arguments) <= MAX_NESTING else None
    if whole is None:
        return _undecoded(slot, call_id, None)
    return _decoded(slot, call_id, paired_json(whole))


def _decoded(slot: CallSlot, call_id: str, arguments: Mapping[str, Any]) -> ToolCall:
    text, as_string = slot.arguments, slot.as_string
    return ToolCall(slot.name, call_id, arguments, arguments_text=text, as_string=as_string, extra=slot.extra)


def _undecoded(slot: CallSlot, call_id: str, recovered: Mapping[str, Any] | None) -> ToolCall:
    meant = None if recovered is None else paired_json(recovered)
    text = slot.arguments
    return ToolCall(slot.name, call_id, None, text, meant, text, slot.as_string, slot.extra)
