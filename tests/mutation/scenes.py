"""What the scripted endpoint is asked, and what is right to answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from probes.quirks import Quirk
from probes.tools.case import Case, Category, ExpectedCall, Leaf, Oracle, Trigger
from tests.endpoints.answers import Answer, Call, Refusal

Json = dict[str, Any]

TEXT = "Rain fell on the old bridge 🌉 and by noon it had stopped."
THOUGHT = "They ask about the weather, so I tell of it."
NOTE = "A long note: keep the ropes dry, watch the tide and close the hatch before the night comes over the harbour."


def _closed(properties: Json, *optional: str) -> Json:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _tool(name: str, parameters: Json) -> Json:
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


_CREW = _closed({"name": {"type": "string"}, "watch": {"type": "integer"}})
BOOK = _tool(
    "book_berth",
    _closed(
        {
            "berth": {"type": "integer"},
            "vessel": {"type": "string"},
            "tide": {"enum": ["spring", "neap"]},
            "crew": {"type": "array", "items": _CREW},
        },
        "tide",
    ),
)
WARN = _tool("warn_master", _closed({"master": {"type": "string"}, "hours": {"type": "integer"}}))
LIST = _tool("list_berths", _closed({}))

BOOKED: Json = {"berth": 7, "vessel": "Petrel 🌉", "tide": "neap", "crew": [{"name": "Ana", "watch": 2}]}
WARNED: Json = {"master": "Ana", "hours": 3}


def _expected(name: str, arguments: Mapping[str, Any]) -> ExpectedCall:
    return ExpectedCall(name, {f"/{key}": Leaf("exact", value) for key, value in arguments.items()})


BOOKING, WARNING = _expected("book_berth", BOOKED), _expected("warn_master", WARNED)
BOOK_CALL = Call("book_berth", json.dumps(BOOKED, ensure_ascii=False))
WARN_CALL = Call("warn_master", json.dumps(WARNED))
SAYS = Oracle(Trigger.MUST_NOT, finish=("stop",), content=Leaf("exact", TEXT))


@dataclass(frozen=True)
class Scene:
    """`quirks` are those of the right answer itself."""

    name: str
    case: Case
    answer: Answer | Refusal
    quirks: frozenset[Quirk] = frozenset()

    @property
    def verbatim(self) -> bool:
        """Whether the body goes out as it stands, since it may be refused."""
        return self.case.oracle.rejected


def _scene(
    name: str,
    oracle: Oracle,
    answer: Answer | Refusal,
    *tools: Json,
    category: Category = Category.T1,
    quirks: frozenset[Quirk] = frozenset(),
    **asked: Any,
) -> Scene:
    request: Json = {"messages": [{"role": "user", "content": "Tell me of the harbour."}], "max_tokens": 200, **asked}
    if tools:
        request["tools"] = list(tools)
    return Scene(name, Case(category, name, request, oracle), answer, quirks)


TALK = _scene("talk", SAYS, Answer(TEXT), category=Category.T2)
OFFERED = _scene("offered", SAYS, Answer(TEXT), BOOK, LIST, category=Category.T2)
FORBIDDEN = _scene("forbidden", SAYS, Answer(TEXT), BOOK, category=Category.T10, tool_choice="none")
CALL = _scene(
    "call", Oracle(Trigger.MUST, (BOOKING,), finish=("tool_calls",)), Answer(calls=(BOOK_CALL,)), BOOK, WARN, LIST
)
PAIR = _scene(
    "pair",
    Oracle(Trigger.MUST, (BOOKING, WARNING), finish=("tool_calls",)),
    Answer(calls=(BOOK_CALL, WARN_CALL)),
    BOOK,
    WARN,
    category=Category.T9,
)
ONE = _scene(
    "one",
    Oracle(Trigger.MUST, (BOOKING, WARNING), most_calls=1, finish=("tool_calls",)),
    Answer(calls=(BOOK_CALL,)),
    BOOK,
    WARN,
    category=Category.T10,
    parallel_tool_calls=False,
)
EMPTY = _scene(
    "empty",
    Oracle(Trigger.MUST, (_expected("list_berths", {}),), finish=("tool_calls",)),
    Answer(calls=(Call("list_berths"),)),
    LIST,
    BOOK,
    category=Category.T8,
)
CUT = _scene(
    "cut",
    Oracle(Trigger.MUST, finish=("length",), cut=True),
    Answer(calls=(Call("store_note", json.dumps({"note": NOTE})),)),
    _tool("store_note", _closed({"note": {"type": "string"}})),
    category=Category.T12,
    # Arguments that are cut are no JSON, however truly the answer says that it was cut.
    quirks=frozenset({Quirk.TC_ARGS_INVALID_JSON}),
    max_tokens=12,
)
THINK = _scene(
    "think",
    Oracle(Trigger.MUST_NOT, finish=("stop",), content=Leaf("exact", TEXT), reasoning="present"),
    Answer(TEXT, reasoning=THOUGHT),
    category=Category.T13,
)
THINK_CALL = _scene(
    "think-call",
    Oracle(Trigger.MUST, (BOOKING,), finish=("tool_calls",), reasoning="present"),
    Answer(reasoning=THOUGHT, calls=(BOOK_CALL,)),
    BOOK,
    category=Category.T13,
)
LOGPROBS = _scene("logprobs", SAYS, Answer(TEXT), category=Category.T2, logprobs=True, top_logprobs=5, temperature=0)
NUCLEUS = _scene(
    "nucleus", SAYS, Answer(TEXT), category=Category.T2, logprobs=True, top_logprobs=5, temperature=1, top_p=0.5
)
_FORM = _closed({"berth": {"type": "integer"}})
FORM = _scene(
    "form",
    Oracle(Trigger.MUST_NOT, finish=("stop",), content_schema=_FORM),
    Answer('{"berth": 7}'),
    category=Category.T16,
    response_format={"type": "json_schema", "json_schema": {"name": "berth", "schema": _FORM, "strict": True}},
)
SILENT = _scene(
    "silent",
    Oracle(Trigger.MUST, (BOOKING,), finish=("tool_calls",), reasoning="absent"),
    Answer(calls=(BOOK_CALL,)),
    BOOK,
    category=Category.T13,
)
STOPPED = _scene(
    "stopped",
    Oracle(Trigger.MUST_NOT, finish=("stop",), content=Leaf("exact", TEXT.partition("🌉")[0])),
    Answer(TEXT),
    category=Category.T2,
    stop=["🌉"],
)
INVALID = _scene(
    "invalid",
    Oracle(Trigger.FREE, rejected=True, refusal_names=("temperature",), answered=False),
    Answer(TEXT),
    category=Category.T10,
    temperature=-3,
)
SCENES = (
    TALK,
    OFFERED,
    FORBIDDEN,
    CALL,
    PAIR,
    ONE,
    EMPTY,
    CUT,
    THINK,
    THINK_CALL,
    SILENT,
    LOGPROBS,
    NUCLEUS,
    FORM,
    STOPPED,
    INVALID,
)
