"""Questions about a tool that takes one value beside a code, on which the whole question turns."""

from __future__ import annotations

from typing import Any

from probes.grammar import Draw, fill
from probes.tools.case import Leaf
from probes.tools.families import schema
from probes.tools.families.errands import Names, conversation, request
from probes.tools.families.parts import CODE
from probes.tools.families.question import GREEDY, Question, Wanted, must_call, pointer


def one_value(draw: Draw, takes: schema.Schema, value: Any, says: str, leaf: Leaf | None = None) -> Question:
    """`says` is what the user says; {record} in it stands for the code of the record that the value belongs to."""
    names = Names.of(draw)
    name, record = names.tool("store", "record"), fill("{code}", draw)
    field = names.parameter(draw.choice(("stored value", "entry", "content")))
    key = names.parameter(draw.choice(("record", "record code")))
    parameters = schema.closed({key: schema.text("Code of the record.", pattern=CODE), field: takes})
    tool = schema.tool(name, "Store a value in a record, exactly as given.", parameters)
    wanted = Wanted(name, {key: record, field: value}, {pointer(field): leaf} if leaf else {})
    asked = request(conversation(draw, says.replace("{record}", record)), [tool], **GREEDY)
    return must_call(asked, wanted)
