"""How far one call gets: it can be read, its tool exists, its arguments are an object and pass the tool's schema.

Strict is the bytes as a plain client has them. Lenient is after the documented repairs, which a stack that does its
work makes needless: so strict below lenient is a fault of the stack, and lenient below the reference one of the model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from probes.completion import ToolCall
from probes.tools.schemas import CompiledSchema
from probes.wire.argument_schema import SchemaFault
from probes.wire.argument_text import MAX_NESTING, as_whole_object, second_copy
from probes.wire.json_value import RepeatedKeys, nesting_of, parse_exact_json
from probes.wire.surrogates import paired_json

# More objects than that in one text need no counting.
_MOST_RUN_TOGETHER = 32
_DECODER = json.JSONDecoder()


class Rung(StrEnum):
    """Where a call fails first; the members stand from the first rung to none."""

    ARGS_NOT_STRING = "args_not_string"
    INVALID_JSON = "invalid_json"
    UNKNOWN_TOOL = "unknown_tool"
    NOT_OBJECT = "not_object"
    SCHEMA_MISMATCH = "schema_mismatch"
    VALUE_MISMATCH = "value_mismatch"
    OK = "ok"

    @property
    def height(self) -> int:
        """0 for the first rung."""
        return _HEIGHT[self]


_HEIGHT = {rung: height for height, rung in enumerate(Rung)}


class Repair(StrEnum):
    """What a lenient reading puts right."""

    OBJECT_ARGUMENTS = "object_arguments"
    EMPTY_ARGUMENTS = "empty_arguments"
    SAID_TWICE = "said_twice"
    DOUBLE_ENCODED = "double_encoded"


class Info(StrEnum):
    """What is worth knowing of arguments, and is no rung of its own."""

    INT_AS_FLOAT = "int_as_float"
    REPEATED_KEYS = "repeated_keys"
    RUN_TOGETHER = "run_together"
    """Several objects stand one after the other: a stack has made one call of several."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a call, as far as it can be judged without knowing what was expected: `rung` is never
    VALUE_MISMATCH. `arguments` are there where they are an object of a known tool, numbers as they were written."""

    rung: Rung
    arguments: Mapping[str, Any] | None = None
    fault: SchemaFault | None = None
    draft7: bool | None = None
    infos: frozenset[Info] = frozenset()


@dataclass(frozen=True, slots=True)
class Climb:
    """A call's two readings; they are one where no repair helps. `repair` is what the lenient one needed."""

    name: str
    strict: Reading
    lenient: Reading
    repair: Repair | None = None


def climb(call: ToolCall, tools: Mapping[str, CompiledSchema]) -> Climb:
    strict = _read(call.name, call.arguments_text, tools) if call.as_string else Reading(Rung.ARGS_NOT_STRING)
    repaired = _repaired(call, strict.rung, tools)
    if repaired is None:
        return Climb(call.name, strict, strict)
    text, repair = repaired
    return Climb(call.name, strict, _read(call.name, text, tools), repair)


def group_of(tool: str, fault: SchemaFault) -> str:
    """One name for faults of one kind, wherever in a list they are."""
    return hashlib.sha256("\n".join((tool, fault.kind, fault.keyword)).encode("utf-8", "replace")).hexdigest()[:16]


def _read(name: str, text: str, tools: Mapping[str, CompiledSchema]) -> Reading:
    try:
        value = parse_exact_json(text)
    except ValueError:
        return Reading(Rung.INVALID_JSON, infos=frozenset({Info.RUN_TOGETHER} if _runs_together(text) else ()))
    if name not in tools:
        return Reading(Rung.UNKNOWN_TOOL)
    if not isinstance(value, dict):
        return Reading(Rung.NOT_OBJECT)
    if nesting_of(text) > MAX_NESTING:
        return Reading(Rung.SCHEMA_MISMATCH, fault=SchemaFault("", "depth", "", 1), draft7=False)
    verdict = tools[name].judge(arguments := paired_json(value))
    infos = {Info.INT_AS_FLOAT: verdict.int_as_float, Info.REPEATED_KEYS: _repeats_keys(value)}
    return Reading(
        Rung.OK if verdict.fault is None else Rung.SCHEMA_MISMATCH,
        arguments,
        verdict.fault,
        verdict.draft7,
        frozenset(info for info, seen in infos.items() if seen),
    )


def _repaired(call: ToolCall, rung: Rung, tools: Mapping[str, CompiledSchema]) -> tuple[str, Repair] | None:
    """The argument text as its sender must have meant it, None where nothing documented is wrong with it."""
    text = call.arguments_text
    if rung is Rung.ARGS_NOT_STRING:
        return text, Repair.OBJECT_ARGUMENTS
    if rung is Rung.NOT_OBJECT:
        inner = parse_exact_json(text)
        whole = isinstance(inner, str) and as_whole_object(inner) is not None
        return (inner, Repair.DOUBLE_ENCODED) if whole else None
    if rung is not Rung.INVALID_JSON:
        return None
    if text == "":
        tool = tools.get(call.name)
        return None if tool is None or tool.requires else ("{}", Repair.EMPTY_ARGUMENTS)
    copy = second_copy(text)
    return None if copy is None else (copy, Repair.SAID_TWICE)


def _runs_together(text: str) -> bool:
    rest = text.strip()
    for found in range(_MOST_RUN_TOGETHER):
        try:
            value, end = _DECODER.raw_decode(rest)
        except (ValueError, RecursionError):
            return False
        if not isinstance(value, dict):
            return False
        rest = rest[end:].lstrip()
        if not rest:
            return found > 0
    return True


def _repeats_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(value, RepeatedKeys) or any(map(_repeats_keys, value.values()))
    return isinstance(value, list) and any(map(_repeats_keys, value))
