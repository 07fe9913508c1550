"""T4: which of several tools, where their names, descriptions or number make it hard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from probes.grammar import Draw
from probes.tools.families.errands import Errand, Form, Names, any_errand, conversation, request
from probes.tools.families.kinds import KINDS
from probes.tools.families.question import SAMPLED, Family, Question, must_call

_DISTRICTS = ("north", "south", "east", "west")


def _look_alikes(draw: Draw) -> Question:
    """Tools that do other things with the same noun."""
    one = any_errand(draw)
    return _select(draw, one, [one.tool, *one.form.siblings(draw, 1 + draw.below(3))], one.says)


def _districts(draw: Draw) -> Question:
    """The same tool for two to four districts, of which the user names one."""
    form = Form.of(draw.choice(KINDS), draw)
    districts = draw.some(_DISTRICTS, 2 + draw.below(3))
    forms = [_for_district(form, district) for district in districts]
    one = forms[0].errand(draw)
    return _select(draw, one, [each.tool for each in forms], f"{one.says} It is for the {districts[0]} district.")


def _for_district(form: Form, district: str) -> Form:
    name = form.names.tool(form.kind.verbs[0], f"{form.kind.nouns[0]} {district}")
    return replace(form, name=name, description=f"{form.description} For the {district} district only.")


def _opaque(draw: Draw) -> Question:
    """Names that say nothing: only the descriptions tell what the tools do."""
    kinds = draw.some(KINDS, 2 + draw.below(3))
    house = Names.of(draw).house
    forms = [replace(Form.of(kind, draw), name=f"{house}_{draw.digits(3)}{place}") for place, kind in enumerate(kinds)]
    one = forms[0].errand(draw)
    return _select(draw, one, [each.tool for each in forms], one.says)


def _long_list(size: int) -> Callable[[Draw], Question]:
    """The tool stands among many, three times out of four in the last quarter, which a list cut short would lack."""

    def make(draw: Draw) -> Question:
        one = any_errand(draw)
        others = [kind for kind in KINDS if kind is not one.form.kind]
        tools: dict[str, dict[str, Any]] = {}
        while len(tools) < size - 1:
            form = Form.of(draw.choice(others), draw)
            tools |= {tool["function"]["name"]: tool for tool in (form.tool, *form.siblings(draw, 3))}
        listed = draw.shuffled(list(tools.values()))[: size - 1]
        place = size - 1 - draw.below(size // 4) if draw.below(4) else draw.below(size)
        listed.insert(place, one.tool)
        return must_call(request(conversation(draw, one.says), listed, **SAMPLED), one.wanted)

    return make


def _select(draw: Draw, one: Errand, tools: list[Mapping[str, Any]], says: str) -> Question:
    return must_call(request(conversation(draw, says), draw.shuffled(tools), **SAMPLED), one.wanted)


FAMILIES = (
    Family("look-alikes", _look_alikes),
    Family("districts", _districts),
    Family("opaque-names", _opaque),
    Family("long-list-32", _long_list(32)),
    Family("long-list-64", _long_list(64)),
)
