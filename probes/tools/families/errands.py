"""Errands: things a user wants done that one tool does, with every value of the call in what the user says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from probes.grammar import Draw, fill
from probes.tools.families import schema
from probes.tools.families.kinds import KINDS, Kind
from probes.tools.families.parts import Part
from probes.tools.families.question import Wanted, pointer

SYSTEMS = (
    "You work at the front desk of the {place} harbour office.",
    "You help {person}, a {job} in {place}. Answer briefly.",
    "You are the assistant of {surname} & Sons, {place}.",
    "You answer the telephone of the {surname} warehouse. The customer's number is {number}.",
)

_STYLES = ("snake", "snake", "camel", "kebab")


@dataclass(frozen=True, slots=True)
class Names:
    """How one set of tools is named: a word of the house in one style, so that no two sets are named alike."""

    house: str
    style: str

    @classmethod
    def of(cls, draw: Draw) -> Names:
        return cls(fill("{surname}", draw).lower(), draw.choice(_STYLES))

    def tool(self, verb: str, noun: str) -> str:
        return self.styled(f"{self.house} {verb} {noun}")

    def parameter(self, words: str) -> str:
        # A hyphen in a parameter's name would be a trap of its own.
        return replace(self, style="snake" if self.style == "kebab" else self.style).styled(words)

    def styled(self, words: str) -> str:
        first, *rest = words.split()
        if self.style == "camel":
            return first + "".join(word.capitalize() for word in rest)
        return ("_" if self.style == "snake" else "-").join((first, *rest))


@dataclass(frozen=True, slots=True)
class Errand:
    """A tool, the right call of it, and what a user `says` to have it made; `said` has the words for each argument."""

    form: Form
    wanted: Wanted
    says: str
    said: Mapping[str, str]

    @property
    def tool(self) -> dict[str, Any]:
        return self.form.tool


@dataclass(frozen=True, slots=True)
class Form:
    """A tool of one kind: its errands differ in their values alone. `parts` go by their role in the kind."""

    kind: Kind
    names: Names
    name: str
    description: str
    parts: Mapping[str, Part]

    @classmethod
    def of(cls, kind: Kind, draw: Draw) -> Form:
        names = Names.of(draw)
        name = names.tool(draw.choice(kind.verbs), draw.choice(kind.nouns))
        return cls(
            kind, names, name, draw.choice(kind.descriptions), {role: make(draw) for role, make in kind.parts.items()}
        )

    @property
    def tool(self) -> dict[str, Any]:
        parameters = {self.names.parameter(part.words): part.schema for part in self.parts.values()}
        return schema.tool(self.name, self.description, schema.closed(parameters))

    def errand(self, draw: Draw) -> Errand:
        given = {role: part.give(draw) for role, part in self.parts.items()}
        named = {self.names.parameter(part.words): given[role] for role, part in self.parts.items()}
        leaves = {pointer(key): one.leaf for key, one in named.items()}
        return Errand(
            self,
            Wanted(self.name, {key: one.value for key, one in named.items()}, leaves),
            draw.choice(self.kind.asks).format(**{role: one.said for role, one in given.items()}),
            {key: one.said for key, one in named.items()},
        )

    def siblings(self, draw: Draw, count: int) -> list[dict[str, Any]]:
        """Tools for the same things that do something else with them."""
        return [self._sibling(verb, does) for verb, does in draw.some(self.kind.siblings, count)]

    def _sibling(self, verb: str, does: str) -> dict[str, Any]:
        noun = self.kind.nouns[0]
        parameters = schema.closed({self.names.parameter(f"{noun} code"): schema.text(f"The code of the {noun}.")})
        return schema.tool(self.names.tool(verb, noun), does, parameters)


def any_errand(draw: Draw) -> Errand:
    return Form.of(draw.choice(KINDS), draw).errand(draw)


def different_errands(draw: Draw, count: int) -> list[Errand]:
    """Errands of different kinds, so that only one tool fits each; there are sixteen."""
    return [Form.of(kind, draw).errand(draw) for kind in draw.some(KINDS, count)]


def conversation(draw: Draw, says: str) -> list[dict[str, Any]]:
    """A user's turn, every second time after a system message."""
    user = {"role": "user", "content": says}
    if draw.below(2):
        return [user]
    return [{"role": "system", "content": fill(draw.choice(SYSTEMS), draw)}, user]


def request(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], **parameters: Any
) -> dict[str, Any]:
    return {"messages": list(messages), "tools": list(tools), **parameters}
