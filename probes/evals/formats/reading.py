"""Reads a file of eval items line by line, whatever format it has, with the memory of one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO

from probes.errors import SuiteFileError
from probes.evals.formats import bfcl, gpt_oss, inspect_ai, k2vv, lm_eval, minimax, own
from probes.evals.item import EvalItem, GraderKind
from probes.wire.json_value import parse_strict_json

MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_COMPANION_BYTES = 64 * 1024 * 1024


class Format(StrEnum):
    """The formats, in the order in which a first line is tried on them: what asks for more comes first."""

    OWN = "own"
    GPT_OSS = "gpt-oss"
    BFCL = "bfcl"
    MINIMAX = "minimax"
    K2VV = "k2vv"
    INSPECT = "inspect"
    LM_EVAL = "lm-eval"


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read. `format` None: by its first line. `companion` is the file that the format keeps beside it, by
    name: tools (gpt-oss) or answers (bfcl). `grader` takes the place of the one that an item without its own would get.
    """

    format: Format | None = None
    companion: Mapping[str, Any] = field(default_factory=dict)
    grader: GraderKind | None = None


@dataclass(frozen=True, slots=True)
class Numbered:
    line: int
    item: EvalItem


# What a line is made of: its keys, the companion, the chosen grader.
ItemOf = Callable[[Mapping[str, Any], Reading], EvalItem]

_LOOKS_LIKE: Mapping[Format, Callable[[Mapping[str, Any]], bool]] = {
    Format.OWN: own.looks_like,
    Format.GPT_OSS: gpt_oss.looks_like,
    Format.BFCL: bfcl.looks_like,
    Format.MINIMAX: minimax.looks_like,
    Format.K2VV: k2vv.looks_like,
    Format.INSPECT: inspect_ai.looks_like,
    Format.LM_EVAL: lm_eval.looks_like,
}
_ITEM_OF: Mapping[Format, ItemOf] = {
    Format.OWN: lambda line, _: own.item_of(line),
    Format.GPT_OSS: lambda line, reading: gpt_oss.item_of(line, reading.companion),
    Format.BFCL: lambda line, reading: bfcl.item_of(line, reading.companion),
    Format.MINIMAX: lambda line, _: minimax.item_of(line),
    Format.K2VV: lambda line, _: k2vv.item_of(line),
    Format.INSPECT: lambda line, reading: inspect_ai.item_of(line, reading.grader),
    Format.LM_EVAL: lambda line, reading: lm_eval.item_of(line, reading.grader),
}
_COMPANIONS: Mapping[Format, Callable[[bytes], dict[str, Any]]] = {
    Format.GPT_OSS: gpt_oss.read_tools,
    Format.BFCL: bfcl.read_answers,
}


def read_items(file: BinaryIO, reading: Reading | None = None) -> Iterator[Numbered]:
    """The items of a file, each as soon as its line is read; blank lines are none.

    Raises SuiteFileError, naming the line and quoting nothing of it, for a line that is too long, no JSON object or no
    item of the format, for an item that an earlier line has, and for a file without any.
    """
    chosen = Reading() if reading is None else reading
    how = chosen.format
    seen: dict[bytes, int] = {}
    for number, text in _lines(file):
        line = _object(number, text)
        how = how or _detected(number, line)
        item = _item(number, line, how, chosen)
        first = seen.setdefault(bytes.fromhex(item.sha256), number)
        if first != number:
            raise _refused(number, f"it has the same request, grader and expected answer as line {first}")
        yield Numbered(number, item)
    if not seen:
        raise _empty()


def detect(file: BinaryIO) -> Format:
    """The format that the first line of a file has. Raises SuiteFileError."""
    for number, text in _lines(file):
        return _detected(number, _object(number, text))
    raise _empty()


def load_companion(how: Format, file: BinaryIO) -> dict[str, Any]:
    """What a format keeps in a second file, by name. Raises SuiteFileError."""
    if how not in _COMPANIONS:
        raise SuiteFileError(
            f"The format {how} has no second file.", remedy=f"Only {' and '.join(_COMPANIONS)} have one."
        )
    content = file.read(MAX_COMPANION_BYTES + 1)
    try:
        if len(content) > MAX_COMPANION_BYTES:
            raise ValueError("it is larger than 64 MB")
        return _COMPANIONS[how](content)
    except ValueError as error:
        raise SuiteFileError(f"The second file cannot be read: {error}.", remedy=_SEE) from None


_SEE = "docs/evals.md says what each format asks for."


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while text := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(text) > MAX_LINE_BYTES:
            raise _refused(number, "it is longer than 4 MB")
        plain = text.removeprefix(b"\xef\xbb\xbf") if number == 1 else text
        if plain.strip():
            yield number, plain


def _object(number: int, text: bytes) -> dict[str, Any]:
    try:
        value = parse_strict_json(text.decode("utf-8"))
    except UnicodeDecodeError:
        raise _refused(number, "it is not UTF-8") from None
    except ValueError:
        raise _refused(number, "it is not JSON") from None
    if not isinstance(value, dict):
        raise _refused(number, "it is not a JSON object")
    return value


def _detected(number: int, line: Mapping[str, Any]) -> Format:
    for how, looks_like in _LOOKS_LIKE.items():
        if looks_like(line):
            return how
    raise _refused(number, "no format has these keys", remedy=f"Name the format: {', '.join(Format)}. {_SEE}")


def _item(number: int, line: Mapping[str, Any], how: Format, reading: Reading) -> EvalItem:
    try:
        return _ITEM_OF[how](line, reading)
    except ValueError as error:
        # Only our own sentences come by here, and they quote nothing.
        raise _refused(number, f"as {how}, {error}") from None


def _empty() -> SuiteFileError:
    return SuiteFileError("The file holds no items.", remedy="Name a file with one JSON object on each line.")


def _refused(number: int, why: str, remedy: str = "") -> SuiteFileError:
    return SuiteFileError(f"Line {number} is refused: {why}.", remedy=remedy or f"Correct or remove the line. {_SEE}")
