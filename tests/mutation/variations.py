"""Lawful ways to write an answer. Of those in STREAMED and WHOLE the same `Completion` is read as of the plain way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from tests.endpoints.answers import Json
from tests.endpoints.edits import (
    after,
    arguments,
    blocks,
    call_entries,
    calls,
    chained,
    choice,
    chunks,
    each,
    each_block,
    later_entries,
    says,
    spoken,
)
from tests.endpoints.wire import DONE, Wire
from tests.mutation.scenes import CALL, EMPTY, FORM, PAIR, TALK, THINK, Scene


def _line_end(end: bytes) -> Wire:
    return each_block(lambda block: block.replace(b"\n", end))


def _before_each(line: bytes) -> Wire:
    return each_block(lambda block: line + block)


def _together(size: int) -> Callable[[list[bytes]], list[bytes]]:
    return lambda found: [b"".join(found[start : start + size]) for start in range(0, len(found), size)]


def _in_reads(count: int) -> Callable[[list[bytes]], list[bytes]]:
    """Each block in so many reads."""

    def cut(block: bytes) -> list[bytes]:
        size = max(1, len(block) // count)
        return [block[start : start + size] for start in range(0, len(block), size)]

    return lambda found: [piece for block in found for piece in cut(block)]


def _cut_before(byte: bytes) -> Callable[[list[bytes]], list[bytes]]:
    """A read ends before each such byte."""
    return lambda found: [piece for block in found for piece in re.split(b"(?=%s)" % byte, block) if piece]


def _rewritten(write: Callable[[Json], str]) -> Wire:
    """The same JSON, written another way; in a stream each line of it in a data line of its own."""

    def edit(block: bytes) -> bytes:
        if block == DONE:
            return block
        text = write(json.loads(block.removeprefix(b"data: ")))
        if not block.startswith(b"data: "):
            return text.encode()
        return "".join(f"data: {line}\n" for line in text.splitlines()).encode() + b"\n"

    return each_block(edit)


_UTF8 = _rewritten(lambda value: json.dumps(value, ensure_ascii=False))


def _usage_in_the_last_chunk(found: list[Json]) -> list[Json]:
    """No chunk has empty choices."""
    found[-2]["usage"] = found[-1]["usage"]
    return found[:-1]


def _report_first(found: list[Json]) -> list[Json]:
    """A chunk with empty choices opens the stream, as a filter's report does."""
    return [{**found[-1], "usage": None, "prompt_filter_results": []}, *found]


def _heartbeats(found: list[Json]) -> list[Json]:
    """An empty delta after each chunk."""
    kept = []
    for chunk in found[:-2]:
        beat = {**chunk, "choices": [{**chunk["choices"][0], "delta": {}, "logprobs": None}]}
        kept += [chunk, beat]
    return [*kept, *found[-2:]]


def _interleaved(found: list[Json]) -> list[Json]:
    """After both calls have begun, the second one's pieces come before the first one's."""
    of: dict[int, list[Json]] = {0: [], 1: []}
    for place, call in call_entries(found):
        of[call["index"]].append(found[place])
    if not of[1]:
        return found
    calling = [of[0][0], of[1][0], *of[1][1:], *of[0][1:]]
    first = found.index(of[0][0])
    return [*found[:first], *calling, *found[first + len(calling) :]]


def _one_chunk_for_both(found: list[Json]) -> list[Json]:
    """The last piece of the first call and the head of the second in one delta."""
    entries = list(call_entries(found))
    place = next((place for place, call in entries if call["index"] == 1), None)
    if place is None:
        return found
    delta = found[place - 1]["choices"][0]["delta"]
    delta["tool_calls"] = [*delta["tool_calls"], *found[place]["choices"][0]["delta"]["tool_calls"]]
    return [*found[:place], *found[place + 1 :]]


def _another_choice(found: list[Json]) -> list[Json]:
    """A second choice between the chunks of the first, ending before it."""
    kept = []
    for chunk in found[:-1]:
        other = deepcopy(chunk)
        other["choices"][0].update(index=1)
        kept += [chunk, other]
    return [*kept, found[-1]]


STREAMED: dict[str, Wire] = {
    "CRLF": _line_end(b"\r\n"),
    "CR only": _line_end(b"\r"),
    "CRLF, cut between CR and LF": chained(_line_end(b"\r\n"), blocks(_cut_before(rb"\n"))),
    "comments between": _before_each(b": keep-alive\n\n"),
    "comments within": _before_each(b": keep-alive\n"),
    "comments before all": blocks(lambda found: [b": OPENROUTER PROCESSING\n\n" * 3, *found]),
    "ids, names and retry times": _before_each(b"id: 7\nevent: message\nretry: 3000\n"),
    "a named event without data": after(2, b"event: ping\n\n"),
    "no blank after the colon": each_block(lambda block: block.replace(b"data: ", b"data:", 1)),
    "a byte order mark": blocks(lambda found: [b"\xef\xbb\xbf", *found]),
    "blank lines first": blocks(lambda found: [b"\n\n", *found]),
    "two events in one read": blocks(_together(2)),
    "three events in one read": blocks(_together(3)),
    "one event in forty reads": blocks(_in_reads(40)),
    "no final blank line": blocks(lambda found: [*found[:-1], DONE.rstrip()]),
    "[DONE] doubled": after(10_000, DONE),
    "a comment after [DONE]": after(10_000, b": bye\n\n"),
    "UTF-8 for escapes": _UTF8,
    "UTF-8, cut within characters": chained(_UTF8, blocks(_cut_before(rb"[\x80-\xbf]"))),
    "JSON over several data lines": _rewritten(lambda value: json.dumps(value, indent=1)),
    "JSON without spaces": _rewritten(lambda value: json.dumps(value, separators=(",", ":"))),
    "keys in another order": _rewritten(lambda value: json.dumps(dict(reversed(value.items())))),
    "usage: null until the end": chunks(lambda found: [{"usage": None, **chunk} for chunk in found]),
    "usage in the last chunk": chunks(_usage_in_the_last_chunk),
    "empty choices first": chunks(_report_first),
    "no role chunk": chunks(lambda found: found[1:]),
    "the role in each delta": spoken(lambda said: said.setdefault("role", "assistant")),
    "nulls for what is not there": spoken(
        lambda said: [said.setdefault(name, None) for name in ("content", "tool_calls", "reasoning_content", "refusal")]
    ),
    "finish_reason empty until the end": choice(
        lambda one: one["finish_reason"] is None and one.update(finish_reason="")
    ),
    "finish_reason absent until the end": choice(lambda one: one["finish_reason"] is None and one.pop("finish_reason")),
    "empty deltas": chunks(_heartbeats),
    "deltas of two slots swapped": chunks(_interleaved),
    "deltas of two slots in one chunk": chunks(_one_chunk_for_both),
    "the type in each call delta": later_entries(lambda _, call: call.update(type="function")),
    "the id in each call delta": later_entries(lambda head, call: call.update(id=head["id"])),
    "name: null in later call deltas": later_entries(lambda _, call: call["function"].update(name=None)),
    "a second choice": chunks(_another_choice),
}
EITHER: dict[str, Wire] = {
    "fields of its own": each(lambda value: value.update(timings={"n": 1}, service_tier=None, x_vendor=["?"])),
    "no object": each(lambda value: value.pop("object")),
    "error: null": each(lambda value: value.update(error=None)),
    "headers of its own": Wire(headers={"X-Request-Id": "r-1", "Cache-Control": "no-cache", "Via": "1.1 edge"}),
}
WHOLE: dict[str, Wire] = {
    "in forty reads": blocks(_in_reads(40)),
    "UTF-8, cut within characters": chained(_UTF8, blocks(_cut_before(rb"[\x80-\xbf]"))),
    "blanks before the body": blocks(lambda found: [b"  \n", *found]),
    "a line end after it": each_block(lambda block: block + b"\n"),
    "over several lines": _rewritten(lambda value: json.dumps(value, indent=2)),
    "keys in another order": _rewritten(lambda value: json.dumps(dict(reversed(value.items())))),
    "a second choice": each(
        lambda body: body["choices"].append({**deepcopy(body["choices"][0]), "index": 1, "finish_reason": "stop"})
    ),
}

# What an endpoint may do otherwise in what it says, and nothing of it is wrong.
OTHERWISE: tuple[tuple[str, Scene, Wire], ...] = (
    ("calls in the other order", PAIR, says(lambda answer: replace(answer, calls=answer.calls[::-1]))),
    ("an integer as 7.0", CALL, arguments(lambda text: text.replace("7", "7.0"))),
    ("blanks in the arguments", CALL, arguments(lambda text: json.dumps(json.loads(text), indent=2))),
    ("blanks around the arguments", CALL, arguments(lambda text: f"\n {text}\n")),
    ("arguments in escapes", CALL, arguments(lambda text: json.dumps(json.loads(text)))),
    (
        "arguments in another order",
        CALL,
        arguments(lambda text: json.dumps(dict(reversed(json.loads(text).items())))),
    ),
    ("ids of nine letters", PAIR, calls(lambda call: replace(call, id=f"a1B2c3D4{call.name[0]}"))),
    ("words before a call", CALL, says(lambda answer: replace(answer, content="I look it up."))),
    ("content empty beside a call", CALL, says(lambda answer: replace(answer, content=""))),
    ("content blank beside a call", CALL, says(lambda answer: replace(answer, content="\n\n"))),
    ("reasoning before a call", CALL, says(lambda answer: replace(answer, reasoning="A berth is wanted."))),
    ("reasoning before no argument", EMPTY, says(lambda answer: replace(answer, reasoning="Let me see."))),
    ("other reasoning", THINK, says(lambda answer: replace(answer, reasoning="Rain, then."))),
    ("JSON of the form with blanks", FORM, says(lambda answer: replace(answer, content='{\n  "berth": 12\n}\n'))),
    ("no model", TALK, each(lambda value: value.pop("model"))),
    ("no usage details", THINK, each(lambda value: (value.get("usage") or {}).pop("completion_tokens_details", None))),
)
