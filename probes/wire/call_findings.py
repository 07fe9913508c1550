"""What the calls of an answer amount to, taken together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probes.completion import ToolCall
from probes.quirks import Quirk
from probes.wire.argument_text import COPIES_OF_A_RUNAWAY
from probes.wire.arguments import ArgumentJudge, JudgedCall, read_interrupted
from probes.wire.asked import Asked
from probes.wire.call_slots import CallSlot, CallSlots
from probes.wire.stringified import Came

# An answer that broke off says nothing of the arguments it would have had.
_OF_WHOLE_ANSWERS = ("TC_ARGS_", "TC_SCHEMA_")


@dataclass(frozen=True, slots=True)
class CallFindings:
    """`schema_valid` is whether every call passes its tool's schema, None where there is no whole call to judge."""

    calls: tuple[ToolCall, ...]
    quirks: frozenset[Quirk]
    schema_valid: bool | None = None


def judge_calls(slots: CallSlots, asked: Asked, reason: str | None, expected: Mapping[str, Any] | None) -> CallFindings:
    """The calls of a whole answer that ended for `reason`."""
    opened = slots.calls
    judge = ArgumentJudge(asked.tools, expected, cut_by_length=reason == "length")
    judged = [judge.judge(slot, call_id) for slot, call_id in zip(opened, _ids(opened), strict=True)]
    quirks = slots.conclude() | _of_number(opened, asked) | _of_types(judged)
    quirks.update(*(call.quirks for call in judged))
    if reason == "length" and _repeats_calls(opened):
        quirks.add(Quirk.TC_REPETITION_RUNAWAY)
    valid = all(call.passes for call in judged) if judged else None
    return CallFindings(tuple(call.call for call in judged), frozenset(quirks), valid)


def read_interrupted_calls(slots: CallSlots, asked: Asked) -> CallFindings:
    """The calls of an answer that broke off, as far as they came."""
    opened = slots.calls
    calls = tuple(read_interrupted(slot, call_id) for slot, call_id in zip(opened, _ids(opened), strict=True))
    quirks = slots.conclude() | _of_number(opened, asked)
    if any(call.name not in asked.tools for call in calls):
        quirks.add(Quirk.TC_UNKNOWN_TOOL)
    return CallFindings(calls, without_judgement_of_arguments(quirks))


def without_judgement_of_arguments(quirks: Iterable[Quirk]) -> frozenset[Quirk]:
    return frozenset(quirk for quirk in quirks if not quirk.startswith(_OF_WHOLE_ANSWERS))


def _ids(slots: Sequence[CallSlot]) -> list[str]:
    """Each call's id; where none came one is made up, so that the call can be sent back."""
    taken = {slot.id for slot in slots}
    ids = []
    for position, slot in enumerate(slots):
        made_up = f"call_{position}"
        while made_up in taken:
            made_up += "_"
        ids.append(slot.id or made_up)
    return ids


def _of_number(opened: Sequence[CallSlot], asked: Asked) -> set[Quirk]:
    return {Quirk.TC_PARALLEL_NOT_HONOURED} if asked.parallel_refused and len(opened) > 1 else set()


def _of_types(judged: Iterable[JudgedCall]) -> set[Quirk]:
    """A parser that makes strings of all values does so in every call; a model does it now and then."""
    came = frozenset[Came]().union(*(call.came for call in judged))
    if Came.SCALAR_AS_STRING in came and Came.SCALAR_PROPER not in came:
        return {Quirk.TC_ARGS_TYPE_STRINGIFIED}
    return {Quirk.TC_ARGS_NESTED_STRINGIFIED} if Came.NESTED_AS_STRING in came else set()


def _repeats_calls(opened: Sequence[CallSlot]) -> bool:
    said = Counter((slot.name, slot.arguments) for slot in opened)
    return max(said.values(), default=0) >= COPIES_OF_A_RUNAWAY
