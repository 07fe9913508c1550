"""Faults of content and reasoning."""

from __future__ import annotations

from dataclasses import replace

from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.scored import Fault
from tests.endpoints.answers import Answer, Json
from tests.endpoints.edits import Edit, chunks, content, says, spoken
from tests.mutation.faults.mutation import always, streamed
from tests.mutation.scenes import CALL, TALK, THINK, THINK_CALL

_OTHER_TEXT = (Fault.CONTENT, Layer.MODEL)


def _renamed(field: str) -> Edit:
    def edit(said: Json) -> None:
        if "reasoning_content" in said:
            said[field] = said.pop("reasoning_content")

    return edit


def _parts(said: Json) -> None:
    if said.get("content"):
        said["content"] = [{"type": "text", "text": said["content"]}]


def _details(said: Json) -> None:
    if "reasoning_content" in said:
        said["reasoning_details"] = [{"type": "reasoning.text", "text": said.pop("reasoning_content")}]


def _torn(found: list[Json]) -> list[Json]:
    """Half of the emoji in one delta, and half in the next."""
    place = next(place for place, chunk in enumerate(found) if "🌉" in str(chunk["choices"][0]["delta"].get("content")))
    chunk = found[place]
    halves = [
        {**chunk, "choices": [{**chunk["choices"][0], "delta": {"content": half}}]} for half in (" \ud83c", "\udf09")
    ]
    return [*found[:place], *halves, *found[place + 1 :]]


MUTATIONS = (
    always(
        "a control token at the end",
        TALK,
        content(lambda text: f"{text}<|im_end|>"),
        Quirk.SPECIAL_TOKEN_LEAK,
        Fault.CONTENT,
        Layer.STACK,
    ),
    always("a marker beside a call", CALL, content(lambda _: "<tool_call>"), Quirk.SPECIAL_TOKEN_LEAK, Layer.STACK),
    always(
        "a control token in the reasoning",
        THINK,
        says(lambda answer: replace(answer, reasoning=f"{answer.reasoning} <|eot_id|>")),
        Quirk.SPECIAL_TOKEN_LEAK,
        Layer.STACK,
    ),
    always("reasoning as reasoning", THINK, spoken(_renamed("reasoning")), Quirk.REASONING_FIELD_VARIANT),
    always(
        "reasoning as reasoning, before a call",
        THINK_CALL,
        spoken(_renamed("reasoning")),
        Quirk.REASONING_FIELD_VARIANT,
    ),
    always("reasoning in details", THINK, spoken(_details), Quirk.REASONING_FIELD_VARIANT),
    always(
        "reasoning in tags",
        THINK,
        says(lambda answer: Answer(f"<think>{answer.reasoning}</think>{answer.content}")),
        Quirk.REASONING_FIELD_VARIANT,
        Fault.REASONING_LEAKED,
        Layer.STACK,
    ),
    always(
        "reasoning without its opening tag",
        THINK,
        says(lambda answer: Answer(f"{answer.reasoning}</think>{answer.content}")),
        Quirk.SPECIAL_TOKEN_LEAK,
        Fault.CONTENT,
        Fault.REASONING_MISSING,
        Fault.REASONING_LEAKED,
        Layer.STACK,
    ),
    always(
        "reasoning lost",
        THINK,
        says(lambda answer: replace(answer, reasoning="")),
        Fault.REASONING_MISSING,
        Layer.STACK,
    ),
    always(
        "the answer filed as reasoning",
        THINK,
        says(lambda answer: Answer(None, f"{answer.reasoning}{answer.content}")),
        Quirk.REASONING_ONLY,
        Fault.CONTENT,
        Layer.STACK,
    ),
    always("content as parts", TALK, spoken(_parts), Quirk.CONTENT_LIST_PARTS, Layer.STACK),
    always(
        "U+FFFD in the text",
        TALK,
        content(lambda text: text.replace("🌉", "\ufffd")),
        Quirk.REPLACEMENT_CHAR,
        Fault.CONTENT,
        Layer.STACK,
    ),
    always(
        "U+FFFD in the reasoning",
        THINK,
        says(lambda answer: replace(answer, reasoning=f"{answer.reasoning}\ufffd")),
        Quirk.REPLACEMENT_CHAR,
        Layer.STACK,
    ),
    always(
        "half a surrogate pair",
        TALK,
        content(lambda text: text.replace("🌉", "\ud83c")),
        Quirk.LONE_SURROGATE,
        Fault.CONTENT,
        Layer.STACK,
    ),
    streamed("a surrogate pair over two deltas", TALK, chunks(_torn), Quirk.LONE_SURROGATE, Layer.STACK),
    always("content lost", TALK, content(lambda _: None), *_OTHER_TEXT),
    always("spaces lost", TALK, content(lambda text: text.replace(" ", "")), *_OTHER_TEXT),
    always("the head lost", TALK, content(lambda text: text[4:]), *_OTHER_TEXT),
)
