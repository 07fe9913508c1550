"""Puts the tool calls of an answer together, from the deltas of a stream or from a plain message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from probes.quirks import Quirk
from probes.wire.json_value import as_object, as_objects, as_text
from probes.wire.surrogates import has_lone_surrogate, paired, paired_json

# Name and arguments stand here where a server leaves the wrapper `function` out.
_OF_EVERY_CALL = frozenset({"id", "type", "index", "function", "name", "arguments"})


@dataclass(slots=True)
class CallSlot:
    """One call as far as it has come. `bare` marks the old `function_call`, which has neither id nor index; `as_string`
    is False once arguments came as anything else. `extra` holds the members that not every call has."""

    id: str = ""
    name: str = ""
    bare: bool = False
    as_string: bool = True
    pieces: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        """The argument text, as a client gets it."""
        return paired("".join(self.pieces))

    @property
    def opened(self) -> bool:
        """Whether anything came that makes it a call."""
        return bool(self.name or self.id or any(self.pieces))


class CallSlots:
    """The calls of one answer, in order of first appearance, and the quirks seen while they came.

    An integer `index` is a key, never a position. Without one, a new id opens a slot, and so does a second name in one
    delta; anything else goes to the last.
    Beside `tool_calls` the old `function_call` says the same once more, for clients that know nothing else.
    """

    def __init__(self, declared: Iterable[str]) -> None:
        self.quirks: set[Quirk] = set()
        self._declared = frozenset(declared)
        self._slots: list[CallSlot] = []
        self._by_index: dict[int, CallSlot] = {}
        self._by_id: dict[str, CallSlot] = {}

    @property
    def calls(self) -> list[CallSlot]:
        return [slot for slot in self._slots if slot.opened]

    def take_message(self, message: Mapping[str, Any]) -> None:
        """The calls of a plain answer: each entry is one."""
        entries = list(_entries(message))
        for entry in entries:
            self._fill(self._open(), entry)
        if not entries:
            self._take_bare(message)

    def take_delta(self, delta: Mapping[str, Any]) -> bool:
        """The call deltas of one chunk; True where one of them carried argument text."""
        before = len(self._slots)
        carried = [self._fill(self._slot_for(entry, before), entry) for entry in _entries(delta)]
        return any(carried) if carried else self._take_bare(delta)

    def conclude(self) -> set[Quirk]:
        """All quirks, those of the ids and the index base among them, which only the end can tell."""
        quirks = set(self.quirks)
        ids = [slot.id for slot in self.calls if not slot.bare]
        if "" in ids:
            quirks.add(Quirk.TC_ID_MISSING)
        if len(set(filter(None, ids))) < len(list(filter(None, ids))):
            quirks.add(Quirk.TC_ID_DUPLICATE)
        if self._by_index and min(self._by_index) != 0:
            quirks.add(Quirk.TC_INDEX_NONZERO_BASE)
        return quirks

    def _open(self) -> CallSlot:
        slot = CallSlot()
        self._slots.append(slot)
        return slot

    def _slot_for(self, entry: Mapping[str, Any], before: int) -> CallSlot:
        """The call that a delta's entry belongs to; `before` is how many there were before that delta."""
        index, call_id = entry.get("index"), paired(as_text(entry.get("id")))
        if not isinstance(index, int) or isinstance(index, bool):
            self.quirks.add(Quirk.TC_INDEX_MISSING)
            return self._slot_without_index(entry, call_id, before)
        slot = self._by_index.get(index)
        if slot is not None and call_id and slot.id and slot.id != call_id:
            self.quirks.add(Quirk.TC_INDEX_REUSED)
            slot = None
        if slot is None:
            slot = self._by_index[index] = self._open()
        return slot

    def _slot_without_index(self, entry: Mapping[str, Any], call_id: str, before: int) -> CallSlot:
        if call_id:
            return self._by_id.get(call_id) or self._open()
        if not self._slots:
            return self._open()
        name, last = as_text(_function(entry).get("name")), self._slots[-1]
        # Two whole names are two calls, though nothing else tells them apart, and in one list any two.
        whole_names = name != last.name and {name, last.name} <= self._declared
        in_one_list = len(self._slots) > before and "" not in (name, last.name)
        return self._open() if whole_names or in_one_list else last

    def _fill(self, slot: CallSlot, entry: Mapping[str, Any]) -> bool:
        call_id, function = paired(as_text(entry.get("id"))), _function(entry)
        name = paired(as_text(function.get("name")))
        if slot.name and name:
            whole = call_id == slot.id != "" and entry.get("type")
            self._take_name_again(slot, name, Quirk.TC_META_REEMITTED if whole else Quirk.TC_NAME_REPEATED)
        else:
            slot.name = slot.name or name
        slot.id = slot.id or call_id
        self._by_id[call_id] = slot
        for member in entry.keys() - _OF_EVERY_CALL:
            slot.extra.setdefault(paired(member), paired_json(entry[member]))
        return self._take_arguments(slot, function.get("arguments"))

    def _take_name_again(self, slot: CallSlot, name: str, repetition: Quirk) -> None:
        if name == slot.name:
            self.quirks.add(repetition)
        elif any(declared.startswith(slot.name + name) for declared in self._declared):
            self.quirks.add(Quirk.TC_NAME_FRAGMENTED)
            slot.name += name

    def _take_arguments(self, slot: CallSlot, arguments: object) -> bool:
        if isinstance(arguments, str):
            if has_lone_surrogate(arguments):
                self.quirks.add(Quirk.LONE_SURROGATE)
            piece = arguments
        elif arguments is None:
            return False
        else:
            if isinstance(arguments, dict):
                self.quirks.add(Quirk.TC_ARGS_NOT_STRING)
            slot.as_string = False
            piece = json.dumps(arguments, ensure_ascii=False)
        slot.pieces.append(piece)
        return piece != ""

    def _take_bare(self, message: Mapping[str, Any]) -> bool:
        call = message.get("function_call")
        if not isinstance(call, dict):
            return False
        slot = next((slot for slot in self._slots if slot.bare), None) or self._open()
        slot.bare = True
        return self._fill(slot, {"function": call})


def _entries(message: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    return [calls] if isinstance(calls, dict) else as_objects(calls)


def _function(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part with name and arguments; some servers leave the wrapper out."""
    return as_object(entry.get("function")) or entry
