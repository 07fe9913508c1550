"""Faults of what stands around an answer: its id and kind, its finish reason, its usage, the pace of its chunks."""

from __future__ import annotations

from dataclasses import replace

from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.ladder import Rung
from probes.tools.scored import Exclusion, Fault
from tests.endpoints.answers import Answer, Json
from tests.endpoints.edits import chunks, each, finish, says, usage
from tests.endpoints.wire import Wire
from tests.mutation.faults.mutation import always, streamed, whole
from tests.mutation.scenes import CALL, CUT, EMPTY, PAIR, TALK, THINK

_BADLY_ENDED = (Fault.FINISH, Layer.STACK)


def _cut_short(answer: Answer) -> Answer:
    (call,) = answer.calls
    return replace(answer, calls=(replace(call, arguments=call.arguments[:20]),), finish="length")


def _finish_again(reason: str) -> Wire:
    def edited(found: list[Json]) -> list[Json]:
        last = found[-2]
        again = {**last, "choices": [{**last["choices"][0], "finish_reason": reason}]}
        return [*found[:-1], again, found[-1]]

    return chunks(edited)


def _running(found: list[Json]) -> list[Json]:
    """Running usage in every chunk."""
    final = found[-1]["usage"]
    for count, chunk in enumerate(found[:-1]):
        made = min(count, final["completion_tokens"])
        prompt = final["prompt_tokens"]
        chunk["usage"] = {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}
    return found


def _in_three(found: list[Json]) -> list[Json]:
    """The text of all deltas in the first three of them."""
    texts = [chunk["choices"][0]["delta"].get("content") for chunk in found[1:-2]]
    size = -(-len(texts) // 3)
    joined = ["".join(texts[start : start + size]) for start in range(0, len(texts), size)]
    for chunk, text in zip(found[1:], joined, strict=False):
        chunk["choices"][0]["delta"]["content"] = text
    return [*found[: 1 + len(joined)], *found[-2:]]


MUTATIONS = (
    always("id empty", TALK, each(lambda value: value.update(id="")), Quirk.ENVELOPE_ID_EMPTY, Layer.STACK),
    always("id missing", CALL, each(lambda value: value.pop("id")), Quirk.ENVELOPE_ID_EMPTY, Layer.STACK),
    always(
        "object of completions",
        TALK,
        each(lambda value: value.update(object="text_completion")),
        Quirk.ENVELOPE_OBJECT_WRONG,
        Layer.STACK,
    ),
    streamed(
        "object of a whole answer",
        TALK,
        each(lambda value: value.update(object="chat.completion")),
        Quirk.ENVELOPE_OBJECT_WRONG,
        Layer.STACK,
    ),
    whole(
        "object of a chunk",
        TALK,
        each(lambda value: value.update(object="chat.completion.chunk")),
        Quirk.ENVELOPE_OBJECT_WRONG,
        Layer.STACK,
    ),
    always(
        "model alias changed", TALK, each(lambda value: value.update(model="lark-30b-fp8")), Quirk.MODEL_ALIAS_RESOLVED
    ),
    always("finish_reason eos", TALK, finish("eos"), Quirk.FINISH_NONSTANDARD, Layer.STACK),
    always("finish_reason unknown", TALK, finish("complete"), Quirk.FINISH_NONSTANDARD, *_BADLY_ENDED),
    whole("finish_reason null", TALK, finish(None), *_BADLY_ENDED),
    streamed("finish_reason twice", TALK, _finish_again("stop"), Quirk.FINISH_DUPLICATE, Layer.STACK),
    streamed("another finish_reason later", CALL, _finish_again("stop"), Quirk.FINISH_DUPLICATE, Layer.STACK),
    always("stop with a call", CALL, finish("stop"), Quirk.FINISH_STOP_WITH_TOOL_CALLS, *_BADLY_ENDED),
    always("stop with calls", PAIR, finish("stop"), Quirk.FINISH_STOP_WITH_TOOL_CALLS, *_BADLY_ENDED),
    always("tool_calls without calls", TALK, finish("tool_calls"), Quirk.FINISH_TOOLS_WITHOUT_CALLS, *_BADLY_ENDED),
    always(
        "length inside the arguments",
        CALL,
        says(_cut_short),
        Quirk.TC_ARGS_INVALID_JSON,
        Rung.INVALID_JSON,
        Exclusion.LENGTH,
    ),
    always(
        "length masked as tool_calls",
        CUT,
        finish("tool_calls"),
        Quirk.FINISH_MASKS_LENGTH,
        Quirk.TC_ARGS_INVALID_JSON,
        *_BADLY_ENDED,
    ),
    always(
        "length masked as stop",
        CUT,
        finish("stop"),
        Quirk.FINISH_MASKS_LENGTH,
        Quirk.FINISH_STOP_WITH_TOOL_CALLS,
        Quirk.TC_ARGS_INVALID_JSON,
        *_BADLY_ENDED,
    ),
    streamed("usage never", TALK, chunks(lambda found: found[:-1]), Quirk.USAGE_MISSING),
    streamed(
        "usage null", TALK, each(lambda value: "usage" in value and value.update(usage=None)), Quirk.USAGE_MISSING
    ),
    streamed(
        "usage twice",
        TALK,
        chunks(lambda found: [*found[:-1], {**found[-2], "choices": [], "usage": found[-1]["usage"]}, found[-1]]),
        Quirk.USAGE_CUMULATIVE,
    ),
    streamed("usage running", TALK, chunks(_running), Quirk.USAGE_CUMULATIVE),
    always(
        "no completion tokens",
        TALK,
        usage(lambda value: value.update(completion_tokens=0, total_tokens=value["prompt_tokens"])),
        Quirk.USAGE_COMPLETION_ZERO,
        Layer.STACK,
    ),
    always(
        "no completion tokens for a call",
        EMPTY,
        usage(lambda value: value.update(completion_tokens=0, total_tokens=value["prompt_tokens"])),
        Quirk.USAGE_COMPLETION_ZERO,
        Layer.STACK,
    ),
    always(
        "a wrong total",
        TALK,
        usage(lambda value: value.update(total_tokens=value["total_tokens"] + 1)),
        Quirk.USAGE_TOTAL_MISMATCH,
        Layer.STACK,
    ),
    always(
        "more reasoning than output",
        THINK,
        usage(lambda value: value["completion_tokens_details"].update(reasoning_tokens=999)),
        Quirk.USAGE_REASONING_EXCEEDS,
        Layer.STACK,
    ),
    streamed("several tokens a chunk", TALK, chunks(_in_three), Quirk.MULTI_TOKEN_CHUNK),
)
