"""F1: sixteen conversations whose prompt_tokens are known exactly, plain ones and ones with tools.

One request a step, of one token each. A changed tokenizer, template or tool block, a hidden system prompt or a history
that is cut shows in one run, without any statistics.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from probes.accounting import counted_item, plain_steps
from probes.grammar import GRAMMAR_SHA256, Draw, fill
from probes.plan import Item, Plan, ProbeKind
from probes.vocabulary import FRAMES, SYSTEM_MESSAGES, WORDS

VERSION = "1"
_MANY_TOOLS = 8
_LONG_SENTENCES = 60
_TURNS = 6


def plan(seed: bytes) -> Plan:
    """The ladder of this seed, the same in every run."""
    items = (*(counted_item(name, messages) for name, messages in plain_steps(seed)), *_told_of_tools(seed))
    lines = [VERSION, GRAMMAR_SHA256, *(item.key for item in items)]
    suite = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return Plan(ProbeKind.ACCOUNTING, items, suite, VERSION)


def _told_of_tools(seed: bytes) -> Iterator[Item]:
    draw = Draw(seed, "ladder", VERSION)
    plain = [frame.text for frame in FRAMES if not frame.foreign]
    emoji = [frame.text for frame in FRAMES if frame.family == "emoji"]

    def says(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": fill(text, draw)}

    tools = [_tool(draw) for _ in range(_MANY_TOOLS)]
    question = [says("system", draw.choice(SYSTEM_MESSAGES)), says("user", draw.choice(plain))]
    # The same conversation three times, so that what differs is the tools.
    yield counted_item("tools-0", question)
    yield counted_item("tools-1", question, tools=tools[:1])
    yield counted_item("tools-8", question, tools=tools)
    yield counted_item("tool-history", _used(draw, says("user", draw.choice(plain)), tools[0]), tools=tools[:1])
    yield counted_item("emoji", [says("user", f"{draw.choice(emoji)} {draw.choice(emoji)}")])
    yield counted_item("code", [says("user", _CODE)])
    yield counted_item("longer", [says("user", " ".join(draw.choice(plain) for _ in range(_LONG_SENTENCES)))])
    roles = ("user", "assistant") * _TURNS
    yield counted_item("turns", [says(role, draw.choice(plain)) for role in (*roles, "user")])


_CODE = (
    "Explain this:\n```python\nfor {snake} in range({few}, {number}):\n\tif {snake} % {two} != 0x{two}f:\n"
    '        print(f"{snake}\\t->  {snake}", end="")  # {surname}\n```\n<b>{person}</b> & \\"{place}\\" //'
)


def _tool(draw: Draw) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {
            fill("{snake}", draw): {
                "type": "string",
                "description": fill("Name of the {thing}, as in Müller & Søn", draw),
            },
            fill("{snake}_{two}", draw): {"type": "array", "items": {"type": "number"}, "minItems": 1},
            "colour": {"type": "string", "enum": [draw.choice(WORDS["colour"]), fill("{colour}-{few}", draw)]},
        },
        "required": ["colour"],
        "additionalProperties": False,
    }
    description = fill("Finds {adjective} {goods} in {place}; answers <none> where there are none.", draw)
    function = {"name": fill("find_{snake}", draw), "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def _used(draw: Draw, question: dict[str, Any], tool: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation in which the tool was called and has answered."""
    identifier = f"call_{draw.digits(8)}"
    arguments = json.dumps({"colour": tool["function"]["parameters"]["properties"]["colour"]["enum"][0]})
    function = {"name": tool["function"]["name"], "arguments": arguments}
    call = {"id": identifier, "type": "function", "function": function}
    result = json.dumps({"found": int(draw.digits(3)), "where": fill("{place}", draw)})
    return [
        question,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": identifier, "content": result},
        {"role": "user", "content": fill("And in {place}?", draw)},
    ]
