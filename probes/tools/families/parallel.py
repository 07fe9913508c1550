"""T9: 2, 4 or 16 calls in one answer, of one tool or of many."""

from __future__ import annotations

from collections.abc import Callable

from probes.grammar import Draw
from probes.tools.families.errands import Errand, Form, conversation, different_errands, request
from probes.tools.families.kinds import KINDS
from probes.tools.families.question import SAMPLED, Family, Question, must_call

_INTRODUCTIONS = (
    "Please do all of this now, with one call for each line and all calls in one answer:",
    "Here are {count} things to do, none of which hangs on another. Make all the calls at once:",
)


def _identical(draw: Draw, count: int) -> list[Errand]:
    """One tool again and again, each time with other values."""
    form = Form.of(draw.choice(KINDS), draw)
    return [form.errand(draw) for _ in range(count)]


def _family(name: str, errands: Callable[[Draw, int], list[Errand]], count: int) -> Family:
    def make(draw: Draw) -> Question:
        found = errands(draw, count)
        tools = {one.wanted.name: one.tool for one in found}
        lines = [f"{place}. {one.says}" for place, one in enumerate(found, start=1)]
        says = "\n".join([draw.choice(_INTRODUCTIONS).format(count=count), *lines])
        asked = request(conversation(draw, says), list(tools.values()), **SAMPLED)
        return must_call(asked, *(one.wanted for one in found))

    return Family(name, make)


FAMILIES = (
    _family("same-2", _identical, 2),
    _family("different-2", different_errands, 2),
    _family("same-4", _identical, 4),
    _family("different-4", different_errands, 4),
    _family("same-16", _identical, 16),
    _family("different-16", different_errands, 16),
)
