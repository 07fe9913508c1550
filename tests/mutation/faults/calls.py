"""Faults of how calls are put together: index, id, name, the order and number of calls, calls that are no calls."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.ladder import Rung
from probes.tools.scored import Fault
from tests.endpoints.answers import Answer, Json
from tests.endpoints.edits import call_entries, calls, chained, chunks, entry, finish, later_entries, says
from tests.endpoints.wire import Wire
from tests.mutation.faults.mutation import always, streamed
from tests.mutation.scenes import BOOK_CALL, CALL, OFFERED, PAIR, TEXT, THINK_CALL, WARN_CALL

_MISSED = (Fault.NOT_CALLED, Layer.MODEL)
_UNKNOWN = (Quirk.TC_UNKNOWN_TOOL, Rung.UNKNOWN_TOOL, Fault.CALL_BROKEN, Fault.CALL_MISSING, Fault.CALL_EXTRA)
_AS_TEXT = (Quirk.TC_AS_TEXT, Fault.NOT_CALLED, Fault.CALL_AS_TEXT, Layer.STACK)

_NAME, _ARGUMENTS = BOOK_CALL.name, BOOK_CALL.arguments
_SYNTAXES = {
    "Hermes": f'<tool_call>\n{{"name": "{_NAME}", "arguments": {_ARGUMENTS}}}\n</tool_call>',
    "Mistral": f'[TOOL_CALLS][{{"name": "{_NAME}", "arguments": {_ARGUMENTS}}}]',
    "Llama": f'{{"name": "{_NAME}", "parameters": {_ARGUMENTS}}}',
    "Kimi": f"<|tool_calls_section_begin|>functions.{_NAME}:0<|tool_call_argument_begin|>{_ARGUMENTS}",
    "a fence": f'```json\n{{"name": "{_NAME}", "arguments": {_ARGUMENTS}}}\n```',
    "Python": f"[{_NAME}(berth=7, vessel='Petrel')]",
}


def _as_text(text: str) -> Wire:
    return says(lambda _: Answer(text))


def in_pieces(found: list[Json]) -> list[Json]:
    """The name in two deltas."""
    place, head = next(call_entries(found))
    rest = deepcopy(found[place])
    name = head["function"]["name"]
    head["function"]["name"] = name[:4]
    (call,) = rest["choices"][0]["delta"]["tool_calls"]
    rest["choices"][0]["delta"] = {"tool_calls": [{"index": call["index"], "function": {"name": name[4:]}}]}
    return [*found[: place + 1], rest, *found[place + 1 :]]


def with_finish(found: list[Json]) -> list[Json]:
    """The last piece of the arguments stands in the chunk that ends the answer."""
    ending = found[-2]["choices"][0]
    found[-3]["choices"][0]["finish_reason"] = ending["finish_reason"]
    return [*found[:-2], found[-1]]


def _named_again(found: list[Json]) -> list[Json]:
    """The last chunk says id, type and name once more, beside the last piece and the finish_reason."""
    _, head = next(call_entries(found))
    *_, (_, last) = call_entries(found)
    last.update(id=head["id"], type="function")
    last["function"]["name"] = head["function"]["name"]
    return with_finish(found)


def _said_again(found: list[Json]) -> list[Json]:
    """All of the arguments once more, before the end."""
    again = deepcopy(found[-3])
    again["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = _ARGUMENTS
    return [*found[:-2], again, *found[-2:]]


def _merged(found: list[Json]) -> list[Json]:
    """The second call has neither a name nor an index of its own: its pieces go to the first."""
    for _, call in call_entries(found):
        if call["index"] == 1:
            call["index"] = 0
            call.pop("id", None)
            call["function"].pop("name", None)
    return found


MUTATIONS = (
    streamed("index missing", CALL, entry(lambda call: call.pop("index")), Quirk.TC_INDEX_MISSING, Layer.STACK),
    streamed(
        "index missing in later deltas",
        CALL,
        later_entries(lambda _, call: call.pop("index")),
        Quirk.TC_INDEX_MISSING,
        Layer.STACK,
    ),
    streamed(
        "index missing from two calls", PAIR, entry(lambda call: call.pop("index")), Quirk.TC_INDEX_MISSING, Layer.STACK
    ),
    streamed(
        "index as text",
        CALL,
        entry(lambda call: call.update(index=str(call["index"]))),
        Quirk.TC_INDEX_MISSING,
        Layer.STACK,
    ),
    streamed("index reused", PAIR, entry(lambda call: call.update(index=0)), Quirk.TC_INDEX_REUSED, Layer.STACK),
    streamed(
        "index from 1",
        PAIR,
        entry(lambda call: call.update(index=call["index"] + 1)),
        Quirk.TC_INDEX_NONZERO_BASE,
        Layer.STACK,
    ),
    streamed(
        "two calls in one slot",
        PAIR,
        chunks(_merged),
        Quirk.TC_ARGS_INVALID_JSON,
        Rung.INVALID_JSON,
        Fault.CALL_BROKEN,
        Fault.CALL_MISSING,
        Layer.STACK,
    ),
    streamed(
        "name in each delta",
        CALL,
        later_entries(lambda head, call: call["function"].update(name=head["function"]["name"])),
        Quirk.TC_NAME_REPEATED,
        Layer.STACK,
    ),
    streamed("name in pieces", CALL, chunks(in_pieces), Quirk.TC_NAME_FRAGMENTED, Layer.STACK),
    streamed(
        "id, type and name in each delta",
        CALL,
        later_entries(lambda head, call: call.update(head, function={**head["function"], **call["function"]})),
        Quirk.TC_META_REEMITTED,
        Layer.STACK,
    ),
    streamed("arguments beside the finish_reason", CALL, chunks(with_finish), Quirk.TC_ARGS_WITH_FINISH, Layer.STACK),
    streamed(
        "all once more beside the finish_reason",
        CALL,
        chunks(_named_again),
        Quirk.TC_META_REEMITTED,
        Quirk.TC_ARGS_WITH_FINISH,
        Layer.STACK,
    ),
    streamed(
        "arguments once more at the end",
        CALL,
        chunks(_said_again),
        Quirk.TC_ARGS_DUPLICATED,
        Quirk.TC_ARGS_INVALID_JSON,
        Rung.INVALID_JSON,
        Fault.CALL_BROKEN,
        Layer.STACK,
    ),
    always("id missing", CALL, entry(lambda call: call.pop("id", None)), Quirk.TC_ID_MISSING, Layer.STACK),
    always("ids empty", PAIR, calls(lambda call: replace(call, id="")), Quirk.TC_ID_MISSING, Layer.STACK),
    always(
        "one id for two calls", PAIR, calls(lambda call: replace(call, id="call_1")), Quirk.TC_ID_DUPLICATE, Layer.STACK
    ),
    always("a name that is not declared", CALL, calls(lambda call: replace(call, name="moor")), *_UNKNOWN, Layer.MODEL),
    always(
        "a name with its module",
        CALL,
        calls(lambda call: replace(call, name=f"functions.{call.name}")),
        *_UNKNOWN,
        Layer.MODEL,
    ),
    always(
        "a name of another case", CALL, calls(lambda call: replace(call, name="Book_Berth")), *_UNKNOWN, Layer.MODEL
    ),
    always(
        "a control token in the name",
        CALL,
        calls(lambda call: replace(call, name=f"{call.name}<|channel|>")),
        Quirk.SPECIAL_TOKEN_LEAK,
        *_UNKNOWN,
        Layer.STACK,
    ),
    always(
        "another tool",
        CALL,
        says(lambda answer: replace(answer, calls=(WARN_CALL,))),
        Fault.CALL_MISSING,
        Fault.CALL_EXTRA,
        Rung.VALUE_MISMATCH,
        Layer.MODEL,
    ),
    always(
        "the second call lost",
        PAIR,
        says(lambda answer: replace(answer, calls=answer.calls[:1])),
        Fault.CALL_MISSING,
        Layer.MODEL,
    ),
    always(
        "a call twice",
        CALL,
        says(lambda answer: replace(answer, calls=answer.calls * 2)),
        Fault.CALL_EXTRA,
        Rung.VALUE_MISMATCH,
        Layer.MODEL,
    ),
    always("no call where one is due", CALL, _as_text("Which berth shall it be?"), *_MISSED),
    always(
        "a call where none is due",
        OFFERED,
        says(lambda _: Answer(TEXT, calls=(BOOK_CALL,))),
        Fault.CALLED,
        Layer.MODEL,
    ),
    *(always(f"a call as text: {name}", CALL, _as_text(text), *_AS_TEXT) for name, text in _SYNTAXES.items()),
    always(
        "a call as text and tool_calls",
        CALL,
        chained(_as_text(_SYNTAXES["Hermes"]), finish("tool_calls")),
        Quirk.FINISH_TOOLS_WITHOUT_CALLS,
        Quirk.TC_AS_TEXT,
        Fault.NOT_CALLED,
        Fault.CALL_AS_TEXT,
        Fault.FINISH,
        Layer.STACK,
    ),
    always(
        "a call in the reasoning",
        THINK_CALL,
        says(lambda answer: Answer("Done.", answer.reasoning + _SYNTAXES["Hermes"])),
        Quirk.SPECIAL_TOKEN_LEAK,
        Fault.NOT_CALLED,
        Fault.CALL_IN_REASONING,
        Layer.STACK,
    ),
    always(
        "a call among other calls as text",
        PAIR,
        says(lambda answer: Answer(_SYNTAXES["Hermes"], calls=(WARN_CALL,))),
        Quirk.SPECIAL_TOKEN_LEAK,
        Fault.CALL_MISSING,
        Layer.STACK,
    ),
)
