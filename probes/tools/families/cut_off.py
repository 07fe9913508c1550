"""T12: `max_tokens` ends the answer inside its arguments, which then are no arguments."""

from __future__ import annotations

import json

from probes.grammar import Draw
from probes.tools.case import Oracle, Trigger
from probes.tools.families import long_texts, schema
from probes.tools.families.errands import Names, conversation, request
from probes.tools.families.long_texts import Line, of_size
from probes.tools.families.question import Family, Question, RightAnswer, RightCall

_SIZE = 2048
# Of a text of that size no tokenizer makes fewer tokens than twice the most.
_LEAST_TOKENS, _MOST_TOKENS = 60, 120


def _family(name: str, line: Line) -> Family:
    def make(draw: Draw) -> Question:
        names = Names.of(draw)
        called, field = names.tool("store", "text"), names.parameter("full text")
        tool = schema.tool(called, "Store a text.", schema.closed({field: schema.text("The text.", minLength=1)}))
        text = of_size(line, _SIZE, draw)
        says = f"Store the text between the lines of ===, complete and unchanged.\n===\n{text}\n==="
        choice = {"type": "function", "function": {"name": called}}
        limit = _LEAST_TOKENS + draw.below(_MOST_TOKENS - _LEAST_TOKENS + 1)
        asked = request(conversation(draw, says), [tool], temperature=0, max_tokens=limit, tool_choice=choice)
        begun = json.dumps({field: text}, ensure_ascii=False)[: 2 * limit]
        answer = RightAnswer((RightCall(called, begun),), finish="length")
        return Question(asked, Oracle(Trigger.MUST, finish=("length",), cut=True), answer)

    return Family(name, make)


FAMILIES = (_family("prose", long_texts.prose), _family("rows", long_texts.rows))
