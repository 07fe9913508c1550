"""Reads the body of a refused request: what it says, and which parameters it names, in any provider's shape."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_LONGEST_BODY = 64 * 1024
_DEEPEST = 12
# They repeat what was sent, prompts included; a word of a prompt is no complaint.
_ECHOES = frozenset({"input", "messages", "prompt", "flagged_input", "failed_generation"})
_EVERYDAY_WORDS = frozenset({"n", "stop", "user"})
_SAID = ("message", "msg", "detail", "error", "description", "title", "reason")
_KINDS = ("type", "code")

# No longer ones: Python refuses to convert thousands of digits, which a server may well send.
_DIGITS = r"(\d{1,9})(?!\d)"
_NUMBER = r"[\s:'\"`]*" + _DIGITS
_UPPER = re.compile(
    r"(?:less than or equal to|<=|≤|at most|no (?:more|greater|larger) than"
    r"|not (?:be )?(?:exceed|greater than|more than)|up to|maximum(?: value| allowed)?(?: of| is)?"
    r"|max(?: allowed)?|limit(?: of| is)?)" + _NUMBER,
    re.IGNORECASE,
)
_BELOW = re.compile(r"(?:less than|<)" + _NUMBER, re.IGNORECASE)
_LOWER = re.compile(
    r"(?:greater than or equal to|>=|≥|at least|no (?:less|smaller) than|not (?:be )?less than"
    r"|minimum(?: value| allowed)?(?: of| is)?|min(?: allowed)?)" + _NUMBER,
    re.IGNORECASE,
)
_ABOVE = re.compile(r"(?:greater than|more than|larger than|>)" + _NUMBER, re.IGNORECASE)
_RANGE = re.compile(
    rf"(?:between\s+|range[^\d\[(]{{0,30}}[\[(]?\s*|[\[(]\s*){_DIGITS}\s*(?:,|and|to|-|–|\.\.)\s*{_DIGITS}",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(
    r"(?:un|not |n't |no longer )(?:yet |currently )?support|does not support|unrecogni[sz]ed|unknown|unexpected"
    r"|extra[_ ](?:forbidden|inputs)|not (?:permitted|allowed|available|enabled|implemented|accepted)|n't allowed"
    r"|unavailable|deprecated|forbidden|cannot (?:both )?be (?:set|used|specified)|please remove|only the default"
    r"|invalid (?:argument|parameter|field)|additional propert",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"invalid|out of range|must be|should be|expected|too (?:large|high|small|low)|exceed", re.IGNORECASE
)
_MORE = re.compile(r"\b(?:higher|larger|bigger|increase)\b|too (?:low|small)", re.IGNORECASE)
_PYDANTIC_BOUNDS = {
    "le": "less than or equal to",
    "lt": "less than",
    "ge": "greater than or equal to",
    "gt": "greater than",
}


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing an endpoint said. `named` are the parameters it points at by a field (`param`, `loc`), if any."""

    text: str
    named: tuple[str, ...] = ()

    @property
    def upper_bound(self) -> int | None:
        """The largest value allowed, where the text gives one."""
        if found := _RANGE.search(self.text):
            return int(found[2])
        if found := _UPPER.search(self.text):
            return int(found[1])
        found = _BELOW.search(self.text)
        return int(found[1]) - 1 if found else None

    @property
    def lower_bound(self) -> int | None:
        """The smallest value allowed, where the text gives one."""
        if found := _RANGE.search(self.text):
            return int(found[1])
        if found := _LOWER.search(self.text):
            return int(found[1])
        found = _ABOVE.search(self.text)
        return int(found[1]) + 1 if found else None

    @property
    def says_unsupported(self) -> bool:
        return _UNSUPPORTED.search(self.text) is not None

    @property
    def asks_for_more(self) -> bool:
        return _MORE.search(self.text) is not None

    @property
    def says_bad_value(self) -> bool:
        return _VALUE.search(self.text) is not None

    def position(self, parameter: str) -> int | None:
        """Where the text names the parameter; everyday words count only in quotes or after a colon."""
        words = "|".join(re.escape(word) for word in dict.fromkeys((parameter, _camel_case(parameter))))
        pattern = rf"(?<![A-Za-z_])(?:{words})(?![A-Za-z_])"
        if parameter in _EVERYDAY_WORDS:
            pattern = rf"(?<=['\"`])(?:{words})(?=['\"`])|(?<=: )(?:{words})\b"
        found = re.search(pattern, self.text, re.IGNORECASE)
        return found.start() if found else None


def read_complaints(body: bytes) -> list[Complaint]:
    """Everything a refusal says, outermost first. A body that is not JSON is one complaint."""
    text = body[:_LONGEST_BODY].decode("utf-8", "replace")
    return list(_from_text(text, 0))


def _from_text(text: str, depth: int) -> Iterator[Complaint]:
    """Gateways pass their upstream's JSON on as a string, and some servers Python's own notation."""
    value = _decoded(text)
    if isinstance(value, Mapping | list | tuple):
        yield from _from_value(value, depth + 1)
    elif text.strip():
        yield Complaint(text)


def _from_value(value: Any, depth: int) -> Iterator[Complaint]:
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        yield from _from_text(value, depth)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _from_value(entry, depth + 1)
    elif isinstance(value, Mapping):
        if "loc" in value:
            yield _from_validation_error(value)
            return
        yield from _from_object(value, depth)


def _from_object(value: Mapping[str, Any], depth: int) -> Iterator[Complaint]:
    said = [value[name] for name in _SAID if isinstance(value.get(name), str) and _decoded(value[name]) is None]
    kinds = [value[name] for name in _KINDS if isinstance(value.get(name), str)]
    param = value.get("param")
    named = (_snake_case(param.rpartition(".")[2]),) if isinstance(param, str) and param else ()
    if said or named:
        yield Complaint(" ".join([*said, *kinds]), named)
    for name, inner in value.items():
        is_said = name in _SAID and isinstance(inner, str) and inner in said
        if name not in _ECHOES and not is_said and not (isinstance(inner, str) and _decoded(inner) is None):
            yield from _from_value(inner, depth + 1)


def _from_validation_error(value: Mapping[str, Any]) -> Complaint:
    """One entry of pydantic's list: `loc` is the path to the field, `ctx` its bounds."""
    loc = value["loc"] if isinstance(value["loc"], list | tuple) else [value["loc"]]
    path = [part for part in loc if isinstance(part, str) and part != "body"]
    context = value.get("ctx")
    bounds = [
        f"{words} {context[name]}"
        for name, words in _PYDANTIC_BOUNDS.items()
        if isinstance(context, Mapping) and isinstance(context.get(name), int)
    ]
    words = [str(value[name]) for name in ("msg", "type") if value.get(name)]
    return Complaint(" ".join([*words, *bounds]), tuple(path[:1]))


def _decoded(text: str) -> Any:
    """The JSON or Python value a text holds, None where it is plain text."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "["):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            return read(stripped)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return None


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
