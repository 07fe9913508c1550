"""A model that says what is right to whatever the probes ask: a tool-call case, an experiment on a parameter, a sum."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from probes.tools.families.question import RightAnswer
from probes.tools.families.reasoning import Switch
from probes.tools.families.suite import instances
from probes.vocabulary import WORDS
from tests.endpoints.answers import Answer, Call, Refusal

_WEEK = 7 * 24 * 3600
_SAID = sorted({*WORDS["thing"], *WORDS["animal"], *WORDS["goods"], *WORDS["adjective"], *WORDS["verb"]})
_LENGTH = 60
_SUM = re.compile(r"(\d+) plus (\d+)")


class Knowing:
    """Knows the tool-call cases that an installation draws in the week of `at`, and how its reasoning is switched."""

    def __init__(self, seed: bytes, at: datetime, switch: Switch | None = None) -> None:
        drawn = instances(seed, int(at.timestamp()) // _WEEK, switch=switch)
        self._right = {_named(one.case.request): one.answer for one in drawn}

    def __call__(self, request: Mapping[str, Any], dice: random.Random) -> Answer | Refusal:
        known = self._right.get(_named(request))
        return _said(request, dice) if known is None else right(known)


def right(answer: RightAnswer) -> Answer | Refusal:
    """The right answer to a case as an endpoint gives it."""
    if answer.refuses is not None:
        return Refusal.of(answer.refuses)
    calls = tuple(Call(call.name, call.arguments) for call in answer.calls)
    # Where a right answer is cut, it says so; all else follows from what there is of it.
    return Answer(answer.content, answer.reasoning or "", calls, "length" if answer.finish == "length" else None)


def _named(request: Mapping[str, Any]) -> str:
    """What names a case in its request: the tools, the form, and the last words without their nonce."""
    last = re.sub(r"^Session \S+\n\n", "", str(request["messages"][-1]["content"]))
    return json.dumps([request.get("tools"), request.get("response_format"), last])


def _said(request: Mapping[str, Any], dice: random.Random) -> Answer:
    text, form = str(request["messages"][-1]["content"]), request.get("response_format")
    if form is not None:
        return Answer(_formed(form))
    tool = _tool(request, text)
    if tool is not None:
        values = dict.fromkeys(tool["parameters"]["required"], "lanterns")
        return Answer(calls=(Call(tool["name"], json.dumps(values)),))
    if found := _SUM.search(text):
        return Answer(str(int(found[1]) + int(found[2])))
    return Answer(" ".join(dice.choices(_SAID, k=_LENGTH)))


def _formed(form: Mapping[str, Any]) -> str:
    properties = form["json_schema"]["schema"]["properties"]
    return json.dumps({name: one["enum"][0] if "enum" in one else 4 for name, one in properties.items()})


def _tool(request: Mapping[str, Any], text: str) -> Mapping[str, Any] | None:
    """What is to be called: where that is demanded, or the question asks for it."""
    tools = [tool["function"] for tool in request.get("tools") or ()]
    wanted = request.get("tool_choice") == "required" or "Look it up with the tool" in text
    return tools[0] if tools and wanted else None
