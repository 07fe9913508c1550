"""Faults inside the arguments of a call, on each rung of the ladder."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.ladder import Rung
from probes.tools.scored import Exclusion, Fault
from tests.endpoints.answers import Json
from tests.endpoints.edits import arguments, call_entries, chunks, says, values
from tests.mutation.faults.mutation import always, streamed
from tests.mutation.scenes import CALL, EMPTY

_BROKEN = (Quirk.TC_ARGS_INVALID_JSON, Rung.INVALID_JSON, Fault.CALL_BROKEN)
_REFUSED = (Quirk.TC_SCHEMA_MISMATCH, Rung.SCHEMA_MISMATCH, Fault.CALL_BROKEN, Layer.MODEL)
_OTHER = (Rung.VALUE_MISMATCH, Fault.VALUES, Layer.MODEL)


def _torn(found: list[Json]) -> list[Json]:
    """Half of the emoji in one delta, and half in the next."""
    place, call = next(one for one in call_entries(found) if "🌉" in one[1]["function"]["arguments"])
    rest = deepcopy(found[place])
    front, back = call["function"]["arguments"].split("🌉")
    call["function"]["arguments"] = f"{front}\ud83c"
    rest["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = f"\udf09{back}"
    return [*found[: place + 1], rest, *found[place + 1 :]]


def _stringified(value: dict[str, Any]) -> None:
    value["berth"] = str(value["berth"])
    for member in value["crew"]:
        member["watch"] = str(member["watch"])


MUTATIONS = (
    always(
        "an object",
        CALL,
        arguments(json.loads),
        Quirk.TC_ARGS_NOT_STRING,
        Rung.ARGS_NOT_STRING,
        Fault.CALL_BROKEN,
        Layer.STACK,
    ),
    always(
        "encoded twice",
        CALL,
        arguments(json.dumps),
        Quirk.TC_ARGS_DOUBLE_ENCODED,
        Quirk.TC_SCHEMA_MISMATCH,
        Rung.NOT_OBJECT,
        Fault.CALL_BROKEN,
        Layer.STACK,
    ),
    always("said twice", CALL, arguments(lambda text: text * 2), Quirk.TC_ARGS_DUPLICATED, *_BROKEN, Layer.STACK),
    always(
        "said twice, the first unclosed",
        CALL,
        arguments(lambda text: text[:-1] + text),
        Quirk.TC_ARGS_DUPLICATED,
        *_BROKEN,
        Layer.STACK,
    ),
    always(
        "empty where nothing is required",
        EMPTY,
        arguments(lambda _: ""),
        Quirk.TC_ARGS_EMPTY,
        Rung.INVALID_JSON,
        Fault.CALL_BROKEN,
        Layer.STACK,
    ),
    always(
        "null where nothing is required",
        EMPTY,
        arguments(lambda _: None),
        Quirk.TC_ARGS_EMPTY,
        Rung.INVALID_JSON,
        Fault.CALL_BROKEN,
        Layer.STACK,
    ),
    always("empty where something is required", CALL, arguments(lambda _: ""), *_BROKEN, Layer.MODEL),
    always("null where something is required", CALL, arguments(lambda _: None), *_BROKEN, Layer.MODEL),
    always(
        "the text null",
        EMPTY,
        arguments(lambda _: "null"),
        Quirk.TC_SCHEMA_MISMATCH,
        Rung.NOT_OBJECT,
        Fault.CALL_BROKEN,
        Layer.MODEL,
    ),
    always(
        "a list",
        CALL,
        arguments(lambda text: f"[{text}]"),
        Quirk.TC_SCHEMA_MISMATCH,
        Rung.NOT_OBJECT,
        Fault.CALL_BROKEN,
        Layer.MODEL,
    ),
    always(
        "text before them",
        CALL,
        arguments(lambda text: f"commentary {text}"),
        Quirk.TC_ARGS_PREFIX_JUNK,
        *_BROKEN,
        Layer.STACK,
    ),
    always("text after them", CALL, arguments(lambda text: f"{text} Done."), *_BROKEN, Layer.MODEL),
    always("the end lost", CALL, arguments(lambda text: text[:-1]), *_BROKEN, Layer.MODEL),
    always("Python's notation", CALL, arguments(lambda text: str(json.loads(text))), *_BROKEN, Layer.MODEL),
    always("NaN", CALL, arguments(lambda text: text.replace("7", "NaN")), *_BROKEN, Layer.MODEL),
    always(
        "a control character as it is",
        CALL,
        arguments(lambda text: text.replace("Petrel", "Pet\x01rel")),
        Quirk.TC_ARGS_CONTROL_CHAR,
        *_BROKEN,
        Layer.MODEL,
    ),
    always(
        "a control character escaped",
        CALL,
        values(lambda value: value.update(vessel="Pet\x00rel")),
        Quirk.TC_ARGS_CONTROL_CHAR,
        *_OTHER,
    ),
    always(
        "a control token in a value",
        CALL,
        values(lambda value: value.update(vessel="Petrel<|im_end|>")),
        Quirk.SPECIAL_TOKEN_LEAK,
        Rung.VALUE_MISMATCH,
        Fault.VALUES,
        Layer.STACK,
    ),
    always(
        "U+FFFD in a value",
        CALL,
        values(lambda value: value.update(vessel="Pet\ufffdel")),
        Quirk.REPLACEMENT_CHAR,
        Rung.VALUE_MISMATCH,
        Fault.VALUES,
        Layer.STACK,
    ),
    always(
        "all values as text",
        CALL,
        values(_stringified),
        Quirk.TC_ARGS_TYPE_STRINGIFIED,
        Quirk.TC_SCHEMA_MISMATCH,
        Rung.SCHEMA_MISMATCH,
        Fault.CALL_BROKEN,
        Layer.STACK,
    ),
    always(
        "a list as text",
        CALL,
        values(lambda value: value.update(crew=json.dumps(value["crew"]))),
        Quirk.TC_ARGS_NESTED_STRINGIFIED,
        *_REFUSED,
    ),
    always("one number as text", CALL, values(lambda value: value.update(berth="7")), *_REFUSED),
    always("a required value missing", CALL, values(lambda value: value.pop("vessel")), *_REFUSED),
    always("a value too many", CALL, values(lambda value: value.update(colour="red")), *_REFUSED),
    always("a value outside its enum", CALL, values(lambda value: value.update(tide="low")), *_REFUSED),
    always("a value missing deep inside", CALL, values(lambda value: value["crew"][0].pop("watch")), *_REFUSED),
    always("another number", CALL, values(lambda value: value.update(berth=8)), *_OTHER),
    always("another case", CALL, values(lambda value: value.update(vessel="petrel 🌉")), *_OTHER),
    always("an optional value lost", CALL, values(lambda value: value.pop("tide")), *_OTHER),
    always("an item doubled", CALL, values(lambda value: value.update(crew=value["crew"] * 2)), *_OTHER),
    always(
        "copies until the limit",
        CALL,
        says(
            lambda answer: replace(
                answer,
                calls=tuple(replace(call, arguments=call.arguments * 5) for call in answer.calls),
                finish="length",
            )
        ),
        Quirk.TC_REPETITION_RUNAWAY,
        Quirk.TC_ARGS_INVALID_JSON,
        Rung.INVALID_JSON,
        Exclusion.LENGTH,
    ),
    streamed("a surrogate pair over two deltas", CALL, chunks(_torn), Quirk.LONE_SURROGATE, Layer.STACK),
)
