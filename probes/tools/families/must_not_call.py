"""T2: a tool is at hand, and calling it is wrong."""

from __future__ import annotations

import json
from typing import Any

from probes.grammar import Draw, fill
from probes.tools.families import schema
from probes.tools.families.call_ids import call_id
from probes.tools.families.errands import Names, any_errand, conversation, different_errands, request
from probes.tools.families.question import SAMPLED, Family, Question, must_not_call
from probes.vocabulary import FRAMES

_SAYS = "Here is a short answer."
_LOOKUPS = (("berth", "boat"), ("shelf", "book"), ("room", "guest"), ("crate", "article"))


def _irrelevant(draw: Draw) -> Question:
    """What is asked has nothing to do with the tool."""
    frame = draw.choice([frame for frame in FRAMES if not frame.foreign])
    return _about(draw, fill(frame.text, draw), any_errand(draw).tool)


def _in_context(draw: Draw) -> Question:
    """The tool would look up what the conversation says already."""
    place, thing = draw.choice(_LOOKUPS)
    names = Names.of(draw)
    entries = {f"{fill('{surname}', draw)} {number}": fill("{code}", draw) for number in range(3 + draw.below(4))}
    listed = "\n".join(f"- {thing} {name}: {place} {code}" for name, code in entries.items())
    asked = draw.choice(list(entries))
    frame = draw.choice(
        (
            "This is the whole list of today:\n{listed}\nGoing by it, which {place} has {thing} {asked}?",
            "{listed}\n\nAbove is where everything is. In which {place} is {thing} {asked}?",
        )
    )
    tool = schema.tool(
        names.tool("find", place),
        f"Look up the {place} of a {thing} that nobody has told you.",
        schema.closed({names.parameter(f"{thing} name"): schema.text(f"Name of the {thing}.")}),
    )
    return _about(draw, frame.format(listed=listed, place=place, thing=thing, asked=asked), tool)


def _told_not_to(draw: Draw) -> Question:
    """The errand is named, and put off in so many words."""
    one = any_errand(draw)
    frame = draw.choice(
        (
            'Tomorrow I will ask you this: "{says}" Do nothing about it today. Just wish me a good evening.',
            'Do not call any tool now. Put this into one polite sentence of English: "{says}"',
            'How many words has this sentence? "{says}" Only count; nothing is to be done.',
        )
    )
    return _about(draw, frame.format(says=one.says.replace('"', "'")), one.tool)


def _already_done(draw: Draw) -> Question:
    """The call was made and confirmed; the user says thanks."""
    one = any_errand(draw)
    name, done = call_id(draw), {"done": True, "receipt": fill("{code}", draw)}
    call = {
        "id": name,
        "type": "function",
        "function": {"name": one.wanted.name, "arguments": one.wanted.right.arguments},
    }
    messages = [
        *conversation(draw, one.says),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": json.dumps(done)},
        {"role": "assistant", "content": f"It is done. The receipt is {done['receipt']}."},
        {"role": "user", "content": draw.choice(("Thank you!", "Perfect, thanks.", "Good. Have a nice day."))},
    ]
    return must_not_call(request(messages, [one.tool], **SAMPLED), _SAYS)


def _wrong_tool(draw: Draw) -> Question:
    """Something is to be done, and the tool at hand does another thing."""
    wanted, other = different_errands(draw, 2)
    return _about(draw, wanted.says, other.tool)


def _about(draw: Draw, says: str, tool: dict[str, Any]) -> Question:
    return must_not_call(request(conversation(draw, says), [tool], **SAMPLED), _SAYS)


FAMILIES = (
    Family("irrelevant", _irrelevant),
    Family("in-context", _in_context),
    Family("told-not-to", _told_not_to),
    Family("already-done", _already_done),
    Family("wrong-tool", _wrong_tool),
)
