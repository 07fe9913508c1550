"""T16: `response_format` with a JSON schema, alone and beside tools."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from probes.grammar import Draw, fill
from probes.tools.case import Oracle, Trigger
from probes.tools.families import schema
from probes.tools.families.errands import any_errand, conversation
from probes.tools.families.parts import CODE
from probes.tools.families.question import BARE, GREEDY, Family, JsonObject, Question, RightAnswer
from probes.vocabulary import WORDS

_FORMAT = "response_format"


def _flat(draw: Draw) -> tuple[schema.Schema, JsonObject, str]:
    colours = draw.some(WORDS["colour"], 4)
    pieces, colour, code = 1 + draw.below(90), draw.choice(colours), fill("{code}", draw)
    fields = {
        "article": schema.text("Article code.", pattern=CODE),
        "pieces": schema.whole("How many.", 1, 99),
        "colour": schema.one_of("Colour.", colours),
        "fragile": {"type": "boolean"},
    }
    right = {"article": code, "pieces": pieces, "colour": colour, "fragile": False}
    return schema.closed(fields), right, f"Fill the form in for {pieces} {colour} pieces of {code}; nothing fragile."


def _nested(draw: Draw) -> tuple[schema.Schema, JsonObject, str]:
    guests = [{"name": fill("{person}", draw), "nights": 1 + draw.below(20)} for _ in range(2 + draw.below(2))]
    guest = schema.closed({"name": schema.text("Full name."), "nights": schema.whole("How long.", 1, 30)})
    fields = {
        "kind": {"type": "string", "const": "guest-list"},
        "guests": schema.rows(guest, 1, 6),
        "remark": {"type": ["string", "null"]},
    }
    right = {"kind": "guest-list", "guests": guests, "remark": None}
    said = "; ".join(f"{one['name']}, {one['nights']} nights" for one in guests)
    return schema.closed(fields), right, f"Make a guest list: {said}. There is no remark."


def _alone(draw: Draw) -> Question:
    return _held(draw, *_flat(draw), **GREEDY)


def _alone_nested(draw: Draw) -> Question:
    return _held(draw, *_nested(draw), **GREEDY)


def _tools_barred(draw: Draw) -> Question:
    """Tools that may not be called."""
    return _held(draw, *_nested(draw), **GREEDY, tools=[any_errand(draw).tool], tool_choice="none")


def _tools_idle(draw: Draw) -> Question:
    """Tools that nothing asks for. To refuse the pair is honest: an answer that is free to call is held to no form."""
    question = _held(draw, *_flat(draw), **BARE, tools=[any_errand(draw).tool])
    return replace(question, oracle=replace(question.oracle, rejected=True, refusal_names=(_FORMAT,)))


def _held(draw: Draw, takes: schema.Schema, right: JsonObject, says: str, **more: Any) -> Question:
    named = {"name": fill("{snake}", draw), "strict": True, "schema": takes}
    asked = {
        "messages": conversation(draw, f"{says} Answer with the JSON object only."),
        **more,
        _FORMAT: {"type": "json_schema", "json_schema": named},
    }
    oracle = Oracle(Trigger.MUST_NOT, finish=("stop",), content_schema=takes)
    return Question(asked, oracle, RightAnswer(content=json.dumps(right, ensure_ascii=False)))


FAMILIES = (
    Family("flat", _alone),
    Family("nested", _alone_nested),
    Family("tools-barred", _tools_barred),
    Family("tools-idle", _tools_idle),
)
