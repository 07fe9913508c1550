"""Files of tool-call cases: one JSON object a line, with the hash of its content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, BinaryIO, Literal, TypeVar, get_args

from probes.errors import CaseFileError
from probes.tools.case import Case, Category, ExpectedCall, Leaf, Oracle, Trigger
from probes.wire.json_value import RepeatedKeys, parse_exact_json

VERSION = "1"
MAX_LINE_BYTES = 4 * 1024 * 1024

Mode = Literal["stream", "plain"]
MODES: tuple[Mode, ...] = get_args(Mode)

_NO_DEFAULT = object()
_BOM = b"\xef\xbb\xbf"
_REMEDY = "A line is one JSON object with category, family, request and oracle, as `line_of` writes it."


class Order(StrEnum):
    ANY = "any"
    GIVEN = "given"


_Word = TypeVar("_Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a file: a case, the modes it is asked in, and the keys of the line that say something else."""

    case: Case
    modes: tuple[Mode, ...] = MODES
    meta: Mapping[str, Any] = field(default_factory=dict)


def read_cases(file: BinaryIO) -> Iterator[Entry]:
    """Each case as soon as its line is read; blank lines are none.

    Raises CaseFileError, naming the line and quoting nothing of it: a line that is longer than 4 MB, no JSON object or
    no case, that says a key twice, whose `probe_id` is not the hash of its content, or that another line was before.
    """
    seen: dict[str, int] = {}
    for number, line in _lines(file.readline):
        entry = _entry(number, line)
        first = seen.setdefault(entry.case.key, number)
        if first != number:
            raise _refused(number, f"it is the same case as line {first}")
        yield entry


def line_of(entry: Entry) -> str:
    """The line that reads as `entry`, without its end. Keys keep their order: a chat template shows it to the model."""
    case = entry.case
    said = {
        "probe_id": case.key,
        "version": VERSION,
        "category": case.category,
        "family": case.family,
        "request": case.request,
        "modes": entry.modes,
        "reps": case.reps,
        "oracle": _line_of_oracle(case.oracle),
        "anchor": case.anchor,
        "formats": case.formats,
        "tags": case.tags,
        **entry.meta,
    }
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def write_cases(file: BinaryIO, entries: Iterable[Entry]) -> None:
    for entry in entries:
        file.write(f"{line_of(entry)}\n".encode())


def _lines(readline: Callable[[int], bytes]) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise _refused(number, "it is longer than 4 MB")
        if stripped := (line.removeprefix(_BOM) if number == 1 else line).strip():
            yield number, stripped


def _entry(number: int, line: bytes) -> Entry:
    try:
        said = parse_exact_json(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise _refused(number, "it is not UTF-8") from None
    except ValueError:
        raise _refused(number, "it is not JSON") from None
    if not isinstance(said, dict):
        raise _refused(number, "it is not a JSON object")
    try:
        return _entry_of(_copy(said, "the line"))
    except ValueError as error:
        raise _refused(number, str(error)) from None


def _refused(number: int, reason: str) -> CaseFileError:
    return CaseFileError(f"Line {number} is no tool-call case: {reason}.", remedy=_REMEDY)


def _entry_of(said: dict[str, Any]) -> Entry:
    if _take(said, "version", str, VERSION) != VERSION:
        raise ValueError(f"its version is not {VERSION}")
    given = _take(said, "probe_id", str, "")
    case = Case(
        _word(said, "category", Category),
        _take(said, "family", str),
        _take(said, "request", dict),
        _oracle(_part(said, "oracle")),
        anchor=_take(said, "anchor", bool, False),
        reps=_take(said, "reps", int, 5),
        formats=_take(said, "formats", bool, False),
        tags=_texts(said, "tags"),
    )
    if given and given != case.key:
        raise ValueError("its probe_id is not the hash of its content")
    modes = _texts(said, "modes") or MODES
    if not set(modes) <= set(MODES):
        raise ValueError(f"modes are {' and '.join(MODES)}")
    return Entry(case, tuple(mode for mode in MODES if mode in modes), said)


def _oracle(said: dict[str, Any]) -> Oracle:
    oracle = Oracle(
        _word(said, "trigger", Trigger),
        tuple(_call(_copy(call, "calls")) for call in _take(said, "calls", list, [])),
        ordered=_word(said, "order", Order, Order.ANY) is Order.GIVEN,
        most_calls=_take(said, "most_calls", int, None),
        finish=_texts(said, "finish"),
        content=_leaf(_part(said, "content")) if "content" in said else None,
        content_schema=_take(said, "content_schema", dict, None),
        reasoning=_take(said, "reasoning", str, None),
        cut=_take(said, "cut", bool, False),
        rejected=_take(said, "rejected", bool, False),
        refusal_names=_texts(said, "refusal_names"),
        answered=_take(said, "answered", bool, True),
    )
    _refuse_rest(said, "oracle")
    return oracle


def _call(said: dict[str, Any]) -> ExpectedCall:
    args = _part(said, "args")
    call = ExpectedCall(
        _take(said, "name", str),
        {pointer: _leaf(_part(args, pointer)) for pointer in list(args)},
        open=_take(said, "open", bool, False),
        example=_take(said, "example", dict, None),
    )
    _refuse_rest(said, "calls")
    return call


def _leaf(said: dict[str, Any]) -> Leaf:
    leaf = Leaf(_take(said, "match", str), said.pop("value", None), _take(said, "tolerance", (int, float), 0.0))
    _refuse_rest(said, "a matcher")
    return leaf


def _line_of_oracle(oracle: Oracle) -> dict[str, Any]:
    """What differs from what a line without the key means."""
    said = {"trigger": oracle.trigger, **_told(oracle, Oracle(oracle.trigger))}
    if oracle.calls:
        said["calls"] = [_line_of_call(call) for call in oracle.calls]
    if oracle.content is not None:
        said["content"] = _line_of_leaf(oracle.content)
    if said.pop("ordered", False):
        said["order"] = Order.GIVEN
    return said


def _line_of_call(call: ExpectedCall) -> dict[str, Any]:
    args = {pointer: _line_of_leaf(leaf) for pointer, leaf in call.args.items()}
    return {"name": call.name, **_told(call, ExpectedCall(call.name, call.args)), "args": args}


def _line_of_leaf(leaf: Leaf) -> dict[str, Any]:
    return {"match": leaf.match, "value": leaf.value, **({"tolerance": leaf.tolerance} if leaf.tolerance else {})}


def _told(made: Oracle | ExpectedCall, plain: Oracle | ExpectedCall) -> dict[str, Any]:
    pairs = ((one.name, getattr(made, one.name), getattr(plain, one.name)) for one in fields(made))
    return {name: value for name, value, usual in pairs if value != usual}


def _take(said: dict[str, Any], key: str, kind: type | tuple[type, ...], default: Any = _NO_DEFAULT) -> Any:
    """The value of `key`, which is then no longer there."""
    value = said.pop(key, default)
    if value is _NO_DEFAULT:
        raise ValueError(f"it has no {key}")
    # True is an int to Python.
    right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not right and value is not default:
        raise ValueError(f"the type of {key} is wrong")
    return value


def _part(said: dict[str, Any], key: str) -> dict[str, Any]:
    return _copy(_take(said, key, dict), key)


def _copy(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"the type of {key} is wrong")
    if isinstance(value, RepeatedKeys):
        raise ValueError(f"{key} says a key twice")
    return dict(value)


def _texts(said: dict[str, Any], key: str) -> tuple[str, ...]:
    values = _take(said, key, list, [])
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"the type of {key} is wrong")
    return tuple(values)


def _word(said: dict[str, Any], key: str, words: type[_Word], default: Any = _NO_DEFAULT) -> _Word:
    word = _take(said, key, str, default)
    if word not in list(words):
        raise ValueError(f"{key} is one of {', '.join(words)}")
    return words(word)


def _refuse_rest(said: dict[str, Any], place: str) -> None:
    """A misspelt key would change what is right."""
    if said:
        raise ValueError(f"{place} has a key that means nothing there")
