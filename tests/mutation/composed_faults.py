"""Faults of a whole endpoint: each is there in every answer that can show it, whatever probe asked."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from itertools import cycle
from typing import Any

from tests.endpoints import hostile
from tests.endpoints.agent import Agent
from tests.endpoints.answers import Answer, Json
from tests.endpoints.edits import (
    Edit,
    arguments,
    blocks,
    call_entries,
    calls,
    choice,
    chunks,
    content,
    each,
    entry,
    finish,
    if_it_is_json,
    if_json,
    later_entries,
    position,
    says,
    spoken,
    usage,
)
from tests.endpoints.server import Connection, Handler, Received
from tests.endpoints.shifts import deaf, prompted
from tests.endpoints.wire import DONE, Wire
from tests.mutation.composed import chats, endpoint, knowing
from tests.mutation.faults.calls import in_pieces, with_finish
from tests.mutation.survey import tokens_in
from tests.mutation.variations import EITHER, STREAMED, WHOLE

# What makes the endpoint as it is after the change.
Mutant = Callable[[], Handler]


def wired(wire: Wire) -> Mutant:
    return lambda: endpoint(wire)


def of_streams(wire: Wire) -> Wire:
    """In streams alone."""
    return replace(wire, body=lambda body: body, blocks=lambda found: wire.blocks(found) if _streamed(found) else found)


def of_bodies(wire: Wire) -> Wire:
    """In whole answers alone."""
    kept = replace(wire, chunks=lambda chunks: chunks)
    return replace(kept, blocks=lambda found: found if _streamed(found) else wire.blocks(found))


def _streamed(found: list[bytes]) -> bool:
    return found[-1:] == [DONE]


def at_times(fault: Handler, every: int = 10) -> Mutant:
    """`fault` for each so-many-th request that was not sent before: a second try is answered."""

    def mutant() -> Handler:
        right, seen = endpoint(), set[bytes]()

        async def handler(received: Received, connection: Connection) -> None:
            known = received.body in seen
            seen.add(received.body)
            await (right if known or len(seen) % every else fault)(received, connection)

        return handler

    return mutant


def always(fault: Handler) -> Mutant:
    return lambda: fault


def answered(status: int, body: bytes | str | Mapping[str, Any], content_type: str = "application/json") -> Handler:
    return hostile.always(status, body, content_type=content_type, headers={"Retry-After": "0"})


def after_event(count: int, data: bytes) -> Wire:
    return of_streams(blocks(lambda found: [*found[:count], data, *found[count:]]))


def of_calls(edit: Callable[[list[Json]], list[Json]]) -> Callable[[list[Json]], list[Json]]:
    """`edit` of the streams that call something."""
    return lambda found: found if next(call_entries(found), None) is None else edit(found)


def _silent(answer: Answer) -> Answer:
    return Answer("I would rather not.") if answer.calls else answer


def _as_text(answer: Answer) -> Answer:
    if not answer.calls:
        return answer
    told = (
        f'<tool_call>\n{{"name": "{one.name}", "arguments": {one.arguments}}}\n</tool_call>' for one in answer.calls
    )
    return Answer("\n".join(told))


def _in_reasoning(answer: Answer) -> Answer:
    return Answer("Done.", _as_text(answer).content or "") if answer.calls else answer


def _stringified(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stringified(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return list(map(_stringified, value))
    return value if isinstance(value, str) else json.dumps(value)


def _first(edit: Callable[[str, Any], Mapping[str, Any]]) -> Callable[[Any], Any]:
    """The first value of the arguments, in place of which stands what the edit gives."""

    def edited(value: Any) -> Any:
        if not isinstance(value, dict) or not value:
            return value
        name, first = next(iter(value.items()))
        return {**edit(name, first), **{key: inner for key, inner in value.items() if key != name}}

    return edited


def _glued(found: list[bytes]) -> list[bytes]:
    return [*found[:3], found[3][:40] + found[4], *found[5:]] if len(found) > 8 else found


def _without_the_fifth(found: list[Json]) -> list[Json]:
    return [*found[:4], *found[5:]] if len(found) > 8 else found


def _fifth_twice(found: list[Json]) -> list[Json]:
    return [*found[:5], *found[4:]] if len(found) > 8 else found


def _said_again(found: list[Json]) -> list[Json]:
    """All arguments of the last call once more, before the end."""
    entries = [call for _, call in call_entries(found)]
    if not entries:
        return found
    last = [call for call in entries if call["index"] == entries[-1]["index"]]
    again = deepcopy(found[-3])
    whole = "".join(call["function"]["arguments"] for call in last)
    again["choices"][0]["delta"]["tool_calls"] = [{"index": last[0]["index"], "function": {"arguments": whole}}]
    return [*found[:-2], again, *found[-2:]]


def _end_twice(found: list[Json]) -> list[Json]:
    return [*found[:-1], found[-2], found[-1]]


def _running(found: list[Json]) -> list[Json]:
    final = found[-1]["usage"]
    for count, chunk in enumerate(found[:-1]):
        made = min(count, final["completion_tokens"])
        chunk["usage"] = {**final, "completion_tokens": made, "total_tokens": final["prompt_tokens"] + made}
    return found


def _two_to_a_chunk(found: list[Json]) -> list[Json]:
    """The text of each two deltas in one."""
    kept: list[Json] = []
    for chunk in found:
        last = kept[-1]["choices"][0]["delta"].get("content") if kept and kept[-1]["choices"] else None
        said = chunk["choices"][0]["delta"].get("content") if chunk["choices"] else None
        if last and said and len(kept) % 2 == 0:
            kept[-1]["choices"][0]["delta"]["content"] = last + said
        else:
            kept.append(chunk)
    return kept


def _tokens(name: str, more: int) -> Edit:
    def edit(value: Json) -> None:
        value[name] += more
        value["total_tokens"] += more

    return edit


def _parts(said: Json) -> None:
    if said.get("content"):
        said["content"] = [{"type": "text", "text": said["content"]}]


def _filed_as_reasoning(answer: Answer) -> Answer:
    return answer if answer.calls or not answer.content else Answer(None, f"{answer.reasoning}{answer.content}")


def _other_model(place: Json) -> None:
    """Each alternative is likelier or less likely than before, by a fifth of a nat or so and always the same."""
    rng = random.Random(place["token"])
    entries = place["top_logprobs"]
    moved = sorted((one["logprob"] + rng.gauss(0, 0.2) - 0.7 for one in entries), reverse=True)
    for alternative, value in zip(entries, moved, strict=True):
        alternative["logprob"] = value
    place["logprob"] = entries[0]["logprob"]


def _each_alternative(edit: Edit) -> Wire:
    return position(lambda place: [edit(one) for one in (place, *place["top_logprobs"])])


def _legacy(one: Json) -> None:
    places = (one.get("logprobs") or {}).get("content")
    if places:
        one["logprobs"] = {
            "tokens": [place["token"] for place in places],
            "token_logprobs": [place["logprob"] for place in places],
            "top_logprobs": [{entry["token"]: entry["logprob"] for entry in place["top_logprobs"]} for place in places],
        }


def _positive(place: Json) -> None:
    place["logprob"] = 0.5
    if place["top_logprobs"]:
        place["top_logprobs"][0]["logprob"] = 0.5


def _not_in_list(place: Json) -> None:
    if place["top_logprobs"]:
        place["top_logprobs"][0] = {"token": " else", "logprob": place["logprob"], "bytes": None}


_FAILED = hostile.error("The engine failed.", code="engine_error", kind="server_error")
_BUSY = hostile.error("Too many requests.", code=429)
_FINGERPRINT = each(lambda value: value.update(system_fingerprint="fp_quantized"))


MUTANTS: dict[str, Mutant] = {
    # Frames.
    "[DONE] missing": wired(of_streams(blocks(lambda found: found[:-1]))),
    "a ping as data": wired(after_event(3, b"data: ping\n\n")),
    "a comment as data": wired(after_event(0, b"data: : keep-alive\n\n")),
    "a number as data": wired(after_event(3, b"data: 17\n\n")),
    "empty data": wired(after_event(3, b"data:\n\n")),
    "two frames glued": wired(of_streams(blocks(_glued))),
    "a delta lost": wired(chunks(_without_the_fifth)),
    "a delta doubled": wired(chunks(_fifth_twice)),
    "a stream that was not asked for": wired(Wire(streams=True)),
    # Envelope.
    "id empty": wired(each(lambda value: value.update(id=""))),
    "id missing": wired(each(lambda value: value.pop("id"))),
    "ids of another form": wired(each(lambda value: value.update(id=f"cmpl_{value['id'][-24:]}"))),
    "object of completions": wired(each(lambda value: value.update(object="text_completion"))),
    "object of a whole answer in streams": wired(
        of_streams(each(lambda value: value.update(object="chat.completion")))
    ),
    "model alias changed": wired(each(lambda value: value.update(model="lark-30b-fp8"))),
    "another fingerprint": wired(_FINGERPRINT),
    "another server": wired(Wire(headers={"Server": "uvicorn"})),
    "JSON without spaces": wired(
        of_bodies(blocks(lambda found: [json.dumps(json.loads(one), separators=(",", ":")).encode() for one in found]))
    ),
    "finish_reason eos": wired(finish("eos")),
    "finish_reason unknown": wired(finish("complete")),
    "finish_reason null": wired(of_bodies(finish(None))),
    "finish_reason twice": wired(chunks(_end_twice)),
    "stop with calls": wired(says(lambda answer: replace(answer, finish="stop") if answer.calls else answer)),
    "tool_calls without calls": wired(
        says(lambda answer: answer if answer.calls else replace(answer, finish="tool_calls"))
    ),
    "length masked": wired(choice(lambda one: one["finish_reason"] == "length" and one.update(finish_reason="stop"))),
    "usage never": wired(chunks(lambda found: found[:-1])),
    "usage null": wired(of_streams(each(lambda value: "usage" in value and value.update(usage=None)))),
    "usage running": wired(chunks(_running)),
    "no completion tokens": wired(
        usage(lambda value: value.update(completion_tokens=0, total_tokens=value["prompt_tokens"]))
    ),
    "a wrong total": wired(usage(lambda value: value.update(total_tokens=value["total_tokens"] + 1))),
    "completion tokens beyond what came": wired(usage(_tokens("completion_tokens", 5_000))),
    "prompt_tokens + 1": wired(usage(_tokens("prompt_tokens", 1))),
    "a hidden system prompt": wired(prompted("Be brief.")),
    "several tokens a chunk": wired(chunks(_two_to_a_chunk)),
    # Calls.
    "index missing": wired(entry(lambda call: call.pop("index", None))),
    "index from 1": wired(entry(lambda call: "index" in call and call.update(index=call["index"] + 1))),
    "index as text": wired(entry(lambda call: "index" in call and call.update(index=str(call["index"])))),
    "one index for all": wired(of_streams(entry(lambda call: call.update(index=0)))),
    "name in each delta": wired(
        later_entries(lambda head, call: call["function"].update(name=head["function"]["name"]))
    ),
    "name in pieces": wired(chunks(of_calls(in_pieces))),
    "id, type and name in each delta": wired(
        later_entries(lambda head, call: call.update(head, function={**head["function"], **call["function"]}))
    ),
    "arguments beside the finish_reason": wired(chunks(of_calls(with_finish))),
    "arguments once more at the end": wired(chunks(_said_again)),
    "call id missing": wired(entry(lambda call: call.pop("id", None))),
    "call ids empty": wired(calls(lambda call: replace(call, id=""))),
    "one id for all calls": wired(calls(lambda call: replace(call, id="call_1"))),
    "call ids of another form": wired(
        entry(lambda call: "id" in call and call.update(id=f"chatcmpl-tool-{call['id'][-24:]}"))
    ),
    "a name that is not declared": wired(calls(lambda call: replace(call, name="moor_nowhere"))),
    "a name with its module": wired(calls(lambda call: replace(call, name=f"functions.{call.name}"))),
    "a control token in the name": wired(calls(lambda call: replace(call, name=f"{call.name}<|channel|>"))),
    "the second call lost": wired(says(lambda answer: replace(answer, calls=answer.calls[:1]))),
    "a call twice": wired(says(lambda answer: replace(answer, calls=answer.calls * 2))),
    "no call where one is due": wired(says(_silent)),
    "calls as text": wired(says(_as_text)),
    "calls as text and tool_calls": wired(
        says(lambda answer: replace(_as_text(answer), finish="tool_calls") if answer.calls else answer)
    ),
    "calls in the reasoning": wired(says(_in_reasoning)),
    "content as well as calls": wired(
        says(lambda answer: replace(answer, content="<tool_call>") if answer.calls else answer)
    ),
    # Arguments.
    "arguments: an object": wired(arguments(if_it_is_json)),
    "arguments: encoded twice": wired(arguments(json.dumps)),
    "arguments: said twice": wired(arguments(lambda text: text * 2)),
    "arguments: empty for none": wired(arguments(lambda text: "" if text == "{}" else text)),
    "arguments: null for none": wired(arguments(lambda text: None if text == "{}" else text)),
    "arguments: a list": wired(arguments(lambda text: f"[{text}]")),
    "arguments: text before them": wired(arguments(lambda text: f"commentary {text}")),
    "arguments: the end lost": wired(arguments(lambda text: text[:-1])),
    "arguments: Python's notation": wired(arguments(lambda text: str(if_it_is_json(text)))),
    "arguments: all values as text": wired(if_json(_stringified)),
    "arguments: a required value missing": wired(if_json(_first(lambda name, value: {}))),
    "arguments: a value too many": wired(if_json(lambda value: {**value, "colour": "red"})),
    "arguments: another value": wired(
        if_json(_first(lambda name, value: {name: f"{value}s" if isinstance(value, str) else value}))
    ),
    "arguments: a control token in a value": wired(
        if_json(_first(lambda name, value: {name: f"{value}<|im_end|>" if isinstance(value, str) else value}))
    ),
    "arguments: U+FFFD in a value": wired(
        if_json(_first(lambda name, value: {name: f"{value}\ufffd" if isinstance(value, str) else value}))
    ),
    "arguments: line ends unescaped": wired(arguments(lambda text: text.replace("\\n", "\n"))),
    # What was asked for.
    "max_tokens ignored": wired(deaf("max_tokens")),
    "temperature ignored": wired(deaf("temperature")),
    "stop ignored": wired(deaf("stop")),
    "n ignored": wired(deaf("n")),
    "response_format ignored": wired(deaf("response_format")),
    "tool_choice ignored": wired(deaf("tool_choice")),
    "tools ignored": wired(deaf("tools", "tool_choice")),
    "the prompt cut": wired(Wire(hears=lambda request: {**request, "messages": request["messages"][-1:]})),
    # Text.
    "content as parts": wired(spoken(_parts)),
    "a control token at the end": wired(content(lambda text: f"{text}<|im_end|>" if text else None)),
    "the answer filed as reasoning": wired(says(_filed_as_reasoning)),
    "U+FFFD in the text": wired(content(lambda text: text.replace("e", "\ufffd") if text else None)),
    "content lost": wired(says(lambda answer: replace(answer, content=None))),
    "words for sums": wired(content(lambda text: "many" if text.strip().isdigit() else text or None)),
    # Log-probabilities.
    "logprobs null": wired(choice(lambda one: one.update(logprobs=None))),
    "logprobs absent": wired(choice(lambda one: one.pop("logprobs"))),
    "logprobs in the older shape": wired(choice(_legacy)),
    "logprobs positive": wired(position(_positive)),
    "logprobs without bytes": wired(_each_alternative(lambda one: one.pop("bytes", None))),
    "logprobs: −9999 for the last": wired(
        position(lambda place: place["top_logprobs"] and place["top_logprobs"][-1].update(logprob=-9999.0))
    ),
    "logprobs: fewer than asked": wired(position(lambda place: place.update(top_logprobs=place["top_logprobs"][:4]))),
    "logprobs: no list": wired(position(lambda place: place.update(top_logprobs=[]))),
    "logprobs: sampled not in its list": wired(position(_not_in_list)),
    "logprobs of another model": wired(position(_other_model)),
    # Now and then.
    "500 at times": at_times(answered(500, _FAILED)),
    "503 in plain text at times": at_times(answered(503, "overloaded", "text/plain")),
    "429 at times": at_times(answered(429, _BUSY)),
    "200 with an error at times": at_times(answered(200, _FAILED)),
    "no choices at times": at_times(answered(200, {"id": "x", "object": "chat.completion", "choices": []})),
    # Not the first answer to a plan: an endpoint that begins with a page is no endpoint.
    "a web page at times": at_times(hostile.html(), every=11),
    "400 for nothing at times": at_times(answered(400, hostile.error("No."))),
    # Always.
    "401": always(answered(401, hostile.error("No."))),
    "500": always(answered(500, _FAILED)),
    "a web page": always(hostile.html()),
    "no choices": always(answered(200, {"id": "x", "object": "chat.completion", "choices": []})),
}


def in_turn() -> Handler:
    """Writes one answer after the other in another of the lawful ways."""
    wires = [*map(of_streams, STREAMED.values()), *EITHER.values(), *map(of_bodies, WHOLE.values())]
    ways = [
        chats(Agent(knowing(), wire, count=tokens_in, rng=random.Random(place), answered=place * 10_000))
        for place, wire in enumerate(wires)
    ]
    turn = cycle(ways)

    async def handler(received: Received, connection: Connection) -> None:
        # Whoever asks for several choices would count one too many as ignored.
        several = received.body and received.json.get("n", 1) > 1
        await (ways[0] if several else next(turn))(received, connection)

    return handler
