"""Small changes of what an endpoint writes, each a `Wire` that is right in everything else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

from tests.endpoints.answers import Answer, Call, Json, Refusal
from tests.endpoints.wire import DONE, Wire, event

# Changes an object where it stands.
Edit = Callable[[Json], object]


def says(edit: Callable[[Answer], Answer | Refusal]) -> Wire:
    return Wire(says=edit)


def refuses(status: int, body: Json | str, content_type: str = "application/json", **headers: str) -> Wire:
    """The same refusal of everything; `retry_after` is the header of that name."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Wire(says=lambda _: Refusal(status, body, named, content_type))


def arguments(edit: Callable[[str], Any]) -> Wire:
    """The arguments of every call."""
    return calls(lambda call: replace(call, arguments=edit(call.arguments)))


def values(edit: Edit) -> Wire:
    """The decoded arguments of every call."""

    def edited(text: str) -> str:
        value = json.loads(text)
        edit(value)
        return json.dumps(value)

    return arguments(edited)


def calls(edit: Callable[[Call], Call]) -> Wire:
    return says(lambda answer: replace(answer, calls=tuple(map(edit, answer.calls))))


def content(edit: Callable[[str], str | None]) -> Wire:
    return says(lambda answer: replace(answer, content=edit(answer.content or "")))


def each(edit: Edit) -> Wire:
    """The body of a plain answer, and every chunk of a stream."""

    def body(value: Json) -> Json:
        edit(value)
        return value

    return Wire(body=body, chunks=lambda chunks: [body(chunk) for chunk in chunks])


def choice(edit: Edit) -> Wire:
    return each(lambda value: [edit(one) for one in value["choices"]])


def spoken(edit: Edit) -> Wire:
    """Every message and every delta."""
    return choice(lambda one: edit(one["message"] if "message" in one else one["delta"]))


def entry(edit: Edit) -> Wire:
    """Every entry of tool_calls."""
    return spoken(lambda said: [edit(call) for call in said.get("tool_calls", ())])


def finish(reason: str | None) -> Wire:
    return choice(lambda one: one["finish_reason"] is not None and one.update(finish_reason=reason))


def usage(edit: Edit) -> Wire:
    return each(lambda value: "usage" in value and edit(value["usage"]))


def position(edit: Edit) -> Wire:
    """Every position that has log-probabilities."""
    return choice(lambda one: [edit(place) for place in (one["logprobs"] or {}).get("content", ())])


def chunks(edit: Callable[[list[Json]], list[Json]]) -> Wire:
    return Wire(chunks=edit)


def blocks(edit: Callable[[list[bytes]], list[bytes]]) -> Wire:
    return Wire(blocks=edit)


def each_block(edit: Callable[[bytes], bytes]) -> Wire:
    return Wire(blocks=lambda found: list(map(edit, found)))


def after(count: int, *events: Json | bytes) -> Wire:
    """More events after the first `count` of a stream."""
    more = [one if isinstance(one, bytes) else event(one) for one in events]
    return blocks(lambda found: [*found[:count], *more, *found[count:]])


def only(count: int, *events: Json) -> Wire:
    """A stream that breaks off after `count` events; `events` come in place of the rest."""
    return blocks(lambda found: [*found[:count], *map(event, events)])


def before_done(edit: Callable[[list[bytes]], list[bytes]]) -> Wire:
    return blocks(lambda found: [*edit(found[:-1]), DONE])


def call_entries(found: list[Json]) -> Iterator[tuple[int, Json]]:
    """The call deltas of a stream, each with the place of its chunk."""
    for place, chunk in enumerate(found):
        for one in chunk["choices"]:
            for call in one["delta"].get("tool_calls", ()):
                yield place, call


def later_entries(edit: Callable[[Json, Json], object]) -> Wire:
    """Every call delta after a call's first, which the edit is given too."""

    def edited(found: list[Json]) -> list[Json]:
        heads: dict[int, Json] = {}
        for _, call in call_entries(found):
            if call["index"] in heads:
                edit(heads[call["index"]], call)
            else:
                heads[call["index"]] = deepcopy(call)
        return found

    return chunks(edited)


def chained(first: Wire, second: Wire) -> Wire:
    """One change after the other, level by level."""
    return Wire(
        hears=lambda request: second.hears(first.hears(request)),
        says=lambda answer: _then(second, first.says(answer)),
        body=lambda body: second.body(first.body(body)),
        chunks=lambda found: second.chunks(first.chunks(found)),
        blocks=lambda found: second.blocks(first.blocks(found)),
        headers={**first.headers, **second.headers},
    )


def _then(wire: Wire, said: Answer | Refusal) -> Answer | Refusal:
    return said if isinstance(said, Refusal) else wire.says(said)


def if_json(edit: Callable[[Any], Any]) -> Wire:
    """The decoded arguments of calls; those that were cut stay as they are."""

    def edited(text: str) -> str:
        try:
            return json.dumps(edit(json.loads(text)))
        except ValueError:
            return text

    return arguments(edited)


def if_it_is_json(text: str) -> Any:
    """Arguments decoded; those that were cut stay text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
