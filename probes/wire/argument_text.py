"""What is wrong with argument text that does not parse, and what its sender seems to have meant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from probes.wire.json_value import equal_json, nesting_of, parse_strict_json

MAX_NESTING = 64
COPIES_OF_A_RUNAWAY = 3

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
# What may stand before the first `{` of text that was merely cut.
_LAWFUL_STARTS = frozenset({"", '"', "["})
# How many braces and periods are tried: text that needs more is not an object said again.
_TRIES = 1_000
_PERIODS = 16
_SHORTEST_HEAD = 32

_DECODER = json.JSONDecoder()
_LOOSE_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Junk:
    """Text stands before the first `{`; `rest` is the object that begins there, None where it does not parse."""

    rest: Mapping[str, Any] | None


def has_control_character(text: str) -> bool:
    """Whether `text` holds a character below U+0020 other than tab, LF and CR."""
    return _CONTROL.search(text) is not None


def parse_loosely(text: str) -> Any:
    """The value of `text`, raw control characters in strings allowed; None where it still does not parse."""
    try:
        return _LOOSE_DECODER.decode(text) if nesting_of(text) <= MAX_NESTING else None
    except ValueError:
        return None


def junk_before(text: str) -> Junk | None:
    """The junk before the first `{`, None where there is none."""
    start = text.find("{")
    if start < 0 or text[:start].strip() in _LAWFUL_STARTS:
        return None
    return Junk(next(objects_in(text[start:]), None))


def second_copy(text: str) -> str | None:
    """The second copy of an object that `text` says twice, the first time possibly without its end; None where it does
    not."""
    body = text.strip()
    return _after_a_closed_copy(body) or _after_an_unclosed_copy(body)


def _after_a_closed_copy(body: str) -> str | None:
    try:
        first, end = _DECODER.raw_decode(body)
    except (ValueError, RecursionError):
        return None
    second = as_whole_object(body[end:])
    return body[end:] if second is not None and equal_json(first, second) else None


def _after_an_unclosed_copy(body: str) -> str | None:
    for start in _braces(body, 1):
        first = body[:start].rstrip()
        # After a colon or a bracket an object may stand by rights.
        begun_again = ":" in first and first[-1] not in ":[" and body.startswith(first, start)
        if begun_again and as_whole_object(body[start:]) is not None:
            return body[start:]
    return None


def runs_away(text: str) -> bool:
    """Whether the same JSON comes three times or more, whole one after another or cut and begun again."""
    return _longest_run(text) >= COPIES_OF_A_RUNAWAY or _is_periodic(text[max(text.find("{"), 0) :].strip())


def _longest_run(text: str) -> int:
    previous: object = None
    longest = run = 0
    for found in objects_in(text):
        run = run + 1 if equal_json(found, previous) else 1
        longest = max(longest, run)
        previous = found
    return longest


def _is_periodic(body: str) -> bool:
    head = body[: min(_SHORTEST_HEAD, len(body) // COPIES_OF_A_RUNAWAY)]
    if not head.startswith("{"):
        return False
    period = body.find(head, 1)
    for _ in range(_PERIODS):
        if not 0 < period * COPIES_OF_A_RUNAWAY <= len(body):
            return False
        if body.startswith(body[:period], period) and body[period:] == body[:-period]:
            return True
        period = body.find(head, period + 1)
    return False


def objects_in(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects that stand in `text`, outermost first, whatever is between them."""
    past = 0
    for start in _braces(text, 0):
        if start < past:
            continue
        try:
            value, past = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        yield value


def as_whole_object(text: str) -> Mapping[str, Any] | None:
    """The object that `text` is, None where it is anything else."""
    try:
        value = parse_strict_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _braces(text: str, start: int) -> Iterator[int]:
    position = text.find("{", start)
    for _ in range(_TRIES):
        if position < 0:
            return
        yield position
        position = text.find("{", position + 1)
