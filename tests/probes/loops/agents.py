"""Agents that work by what they are told and shown alone; none of them knows a task's script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.endpoints.tool_caller import Request, Said

Arguments = Mapping[str, Any]
Made = tuple[str, Arguments, str]
"""A call's name and arguments, and the content of its result."""


def turns_of(request: Request) -> list[list[Made]]:
    """What was called in each turn, with its results, matched by their ids."""
    contents = {
        message["tool_call_id"]: message["content"] for message in request["messages"] if message["role"] == "tool"
    }
    return [
        [
            (call["function"]["name"], json.loads(call["function"]["arguments"]), contents[call["id"]])
            for call in message["tool_calls"]
        ]
        for message in request["messages"]
        if message["role"] == "assistant"
    ]


def spaced(arguments: Arguments) -> str:
    """Argument text that no serialiser would write: it survives only where it is sent back as it came."""
    body = ",  ".join(f"{json.dumps(name)} :{json.dumps(value)}" for name, value in arguments.items())
    return "{ " + body + " }"


def diligent(request: Request) -> Said:
    """Follows the instructions, makes again what was lost, and answers with what it was asked for."""
    turns = turns_of(request)
    lost = [(name, arguments) for name, arguments, content in turns[-1] if _is_lost(content)] if turns else []
    good = [made for turn in turns for made in turn if made[0] in _names(request, 2) and _is_good(made[2])]
    calls = lost or _NEXT[_scenario(request)](request, good)
    if calls:
        return Said([(name, spaced(arguments)) for name, arguments in calls])
    done = [json.loads(content) for _, _, content in good]
    codes = [value for result in done for key in ("booking", "slip", "receipt") if (value := result.get(key))]
    return Said(content=f"All is done: the first is **{codes[0]}**, the last is **{codes[-1]}**.")


def _is_lost(content: str) -> bool:
    return content == "" or "unavailable" in content[:40]


def _is_good(content: str) -> bool:
    return not _is_lost(content) and not content.startswith('{"error"')


def _scenario(request: Request) -> str:
    properties = request["tools"][0]["function"]["parameters"]["properties"]
    return next(name for name in ("boat", "item", "ticket") if name in properties)


def _boats(request: Request, made: Sequence[Made]) -> list[tuple[str, Arguments]]:
    find, book = _names(request, 2)
    if not made:
        (boat,) = re.findall(r"[Tt]he ((?:[A-Z]\w+ ?){2})", _asked(request))
        return [(find, {"boat": boat.strip()})]
    name, _, content = made[-1]
    shown = json.loads(content)
    if name == book:
        return [(find, {"boat": shown["next_boat"]})] if shown["next_boat"] else []
    fitting = [berth for berth in shown["free_berths"] if berth["length_m"] >= shown["boat_length_m"]]
    best = min(fitting, key=lambda berth: berth["length_m"])
    return [(book, {"boat": shown["boat"], "berth": best["berth"], "nights": shown["nights"]})]


def _items(request: Request, made: Sequence[Made]) -> list[tuple[str, Arguments]]:
    count, move = _names(request, 2)
    stores = request["tools"][0]["function"]["parameters"]["properties"]["store"]["enum"]
    if not made or made[-1][0] == move:
        first = re.search(r"(?:item|from) (\w+_\w+_\d+)", _asked(request))
        assert first is not None
        item = json.loads(made[-1][2])["next_item"] if made else first[1]
        return [(count, {"store": store, "item": item}) for store in stores] if item else []
    held = {json.loads(content)["store"]: json.loads(content)["pieces"] for _, _, content in made[-2:]}
    source, to = max(held, key=held.__getitem__), min(held, key=held.__getitem__)
    quantity = (held[source] - held[to]) // 2
    return [(move, {"item": made[-1][1]["item"], "from_store": source, "to_store": to, "quantity": quantity})]


def _tickets(request: Request, made: Sequence[Made]) -> list[tuple[str, Arguments]]:
    read, route = _names(request, 2)
    if not made or made[-1][0] == route:
        first = re.search(r"ticket (T\d+)", _asked(request))
        assert first is not None
        number = json.loads(made[-1][2])["next_ticket"] if made else first[1]
        return [(read, {"ticket": number})] if number else []
    shown = json.loads(made[-1][2])
    team = re.search(rf"{shown['kind']} to (\w+)", _asked(request))
    threshold = re.search(r"(\d+) or more", _asked(request))
    assert team is not None
    assert threshold is not None
    priority = "urgent" if shown["customers_affected"] >= int(threshold[1]) else "normal"
    where = {"team": team[1], "priority": priority}
    return [(route, {"ticket": shown["ticket"], "route": where, "tags": [shown["kind"]]})]


_NEXT = {"boat": _boats, "item": _items, "ticket": _tickets}


def _names(request: Request, count: int) -> list[str]:
    return [tool["function"]["name"] for tool in request["tools"][:count]]


def _asked(request: Request) -> str:
    text: str = request["messages"][1]["content"]
    return text


def obedient(request: Request) -> Said:
    """Does what a result tells it to do, once; else it is diligent."""
    for message in request["messages"][-2:]:
        found = re.search(r"(\w+) with (\{.*?\})", message["content"] or "") if message["role"] == "tool" else None
        if found is not None:
            # The note is JSON within JSON.
            return Said([(found[1], found[2].replace('\\"', '"'))])
    return diligent(request)


def stuck(request: Request) -> Said:
    """Makes its first call for ever."""
    return diligent({**request, "messages": request["messages"][:2]})


def wandering(request: Request) -> Said:
    """Never the same twice, and never done."""
    read = request["tools"][0]["function"]
    values = {name: f"nobody-{len(request['messages'])}" for name in read["parameters"]["properties"]}
    return Said([(read["name"], json.dumps(values))])


def clumsy(request: Request) -> Said:
    """Every call goes wrong first: an unknown tool, an unknown argument or no JSON, in turn. Then it is right."""
    turns = [message for message in request["messages"] if message["role"] == "assistant"]
    right = diligent({**request, "messages": _without_errors(request["messages"])})
    if not right.calls or len(turns) % 2:
        return right
    (name, text), *_ = right.calls
    wrong = [(f"{name}_please", text), (name, text[:-1] + ', "please": true}'), (name, text[:-4])]
    return Said([wrong[len(turns) // 2 % 3]])


def _without_errors(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The conversation without the turns that came to nothing."""
    kept: list[Mapping[str, Any]] = []
    for message in messages:
        if message["role"] == "tool" and message["content"].startswith('{"error"'):
            kept.pop()
        else:
            kept.append(message)
    return kept
