"""A history in which one call was made, and a next call whose value stands only in the first one's result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probes.grammar import Draw
from probes.tools.families import schema
from probes.tools.families.errands import Names
from probes.tools.families.parts import CODE
from probes.tools.families.question import Wanted

_LOOKED_UP = (("locker", "print", "label"), ("card", "open", "ledger"), ("file", "fetch", "folder"))


@dataclass(frozen=True, slots=True)
class Chain:
    """Two tools: `find` looks up by `key` what `use` takes as `takes`. `noun` is what is looked up, `does` what for."""

    find: Mapping[str, Any]
    use: Mapping[str, Any]
    key: str
    takes: str
    noun: str
    does: str

    @classmethod
    def of(cls, draw: Draw) -> Chain:
        noun, verb, made = draw.choice(_LOOKED_UP)
        names = Names.of(draw)
        key, takes = names.parameter("person name"), names.parameter(f"{noun} code")
        by_name = schema.closed({key: schema.text("Full name.")})
        by_code = schema.closed({takes: schema.text(f"Code of the {noun}.", pattern=CODE)})
        return cls(
            schema.tool(names.tool("find", noun), f"Find the {noun} of a person.", by_name),
            schema.tool(names.tool(verb, made), f"{verb.capitalize()} the {made} of a {noun}.", by_code),
            key,
            takes,
            noun,
            f"{verb} the {made}",
        )

    @property
    def tools(self) -> list[Mapping[str, Any]]:
        return [self.find, self.use]

    @property
    def finder(self) -> str:
        return str(self.find["function"]["name"])

    def says(self, person: str) -> str:
        return f'Look up the {self.noun} of "{person}" and then {self.does} for it.'

    def found(self, code: str) -> str:
        """A result of the first call."""
        return json.dumps({self.takes: code})

    def call(self, name: str, person: str) -> dict[str, Any]:
        """The first call, of id `name`, as an assistant's message carries it."""
        arguments = json.dumps({self.key: person}, ensure_ascii=False)
        return {"id": name, "type": "function", "function": {"name": self.finder, "arguments": arguments}}

    def next(self, code: str) -> Wanted:
        return Wanted(self.use["function"]["name"], {self.takes: code})


def called(*calls: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """An assistant's message that made these calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def result(name: str, content: str | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a tool answered to the call of id `name`."""
    return {"role": "tool", "tool_call_id": name, "content": content}
