"""T10: what the request says about calling has to hold, and what it says wrongly has to be refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from probes.grammar import Draw
from probes.tools.case import Oracle, Trigger
from probes.tools.families.errands import Form, any_errand, conversation, different_errands, request
from probes.tools.families.kinds import KINDS
from probes.tools.families.question import (
    BARE,
    GREEDY,
    Family,
    Question,
    RightAnswer,
    calling,
    must_call,
    must_not_call,
)

# A forced call may end with either: the API's own servers say stop.
_FORCED = ("tool_calls", "stop")
_CHOICE = "tool_choice"
_PARALLEL = "parallel_tool_calls"


def _none(draw: Draw) -> Question:
    """An errand with all it takes, and no leave to call."""
    one = any_errand(draw)
    asked = request(conversation(draw, one.says), [one.tool], **GREEDY, tool_choice="none")
    return must_not_call(asked, "I cannot do that at the moment.")


def _required(draw: Draw) -> Question:
    """Nothing is asked for, but a call is required; the words hold its values."""
    one = any_errand(draw)
    says = f'Here is a note for you to think about, there is no hurry: "{one.says.replace(chr(34), chr(39))}"'
    return must_call(_request(draw, [one.tool], says, "required"), one.wanted, finish=_FORCED)


def _named(draw: Draw) -> Question:
    """The request names the twin of the tool that the user names."""
    form = Form.of(draw.choice(KINDS), draw)
    left, right = (replace(form, name=f"{form.name}{end}") for end in draw.some(("_a", "_b", "_c", "_d"), 2))
    one = right.errand(draw)
    choice = {"type": "function", "function": {"name": right.name}}
    says = f"{one.says} Use {left.name}."
    return must_call(_request(draw, [left.errand(draw).tool, one.tool], says, choice), one.wanted, finish=_FORCED)


def _one_at_a_time(draw: Draw) -> Question:
    """Two errands where an answer may make one call only; refusing to promise that is honest too."""
    first, second = different_errands(draw, 2)
    says = f"Do both of these:\n1. {first.says}\n2. {second.says}"
    asked = request(conversation(draw, says), [first.tool, second.tool], **BARE, parallel_tool_calls=False)
    oracle = Oracle(
        Trigger.MUST,
        (first.wanted.expected, second.wanted.expected),
        most_calls=1,
        finish=("tool_calls",),
        rejected=True,
        refusal_names=(_PARALLEL,),
    )
    return Question(asked, oracle, calling(first.wanted))


def _invalid(draw: Draw) -> Question:
    """A choice that is none: an endpoint that answers has not read it."""
    one, other = different_errands(draw, 2)
    choice = draw.choice(
        (
            draw.choice(("sometimes", "always", "None", "must", "")),
            {"type": "function", "function": {"name": other.wanted.name}},
            {"type": "function"},
            17,
        )
    )
    asked = request(conversation(draw, one.says), [one.tool], **BARE, tool_choice=choice)
    oracle = Oracle(Trigger.FREE, rejected=True, refusal_names=(_CHOICE,), answered=False)
    return Question(asked, oracle, RightAnswer(refuses=_CHOICE))


def _request(draw: Draw, tools: list[dict[str, Any]], says: str, choice: object) -> dict[str, Any]:
    return request(conversation(draw, says), tools, **GREEDY, tool_choice=choice)


FAMILIES = (
    Family("none", _none),
    Family("required", _required),
    Family("named", _named),
    Family("one-at-a-time", _one_at_a_time),
    Family("invalid", _invalid),
)
