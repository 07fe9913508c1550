"""What a family's way of writing calls has to say to the parser."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, Protocol

from reference_engine.tool_calls.written_json import NotACall, members, text_of

Place = Literal["start", "after_call", "text"]
"""Where the parser stands: no text yet, nothing but white space since the last call, or in text."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call before it has its id; `id` is the one the model wrote, if any."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """`end` is the index in the body after the calls."""

    end: int
    calls: tuple[WrittenCall, ...]


class Body(Protocol):
    """What follows one opening, read again from its beginning as it grows."""

    @property
    def at(self) -> int:
        """How far it has been read: the verdict rests on what stands before, however the text was cut."""
        ...

    def read(self, text: str, *, ended: bool) -> Found | None:
        """None while it may still become a call, which it never does once `ended`. Raises NotACall."""
        ...


class Form(Protocol):
    def opening(self, text: str, place: Place) -> tuple[int, int] | None:
        """Where the first opening of a call begins and ends in `text`."""
        ...

    def held(self, text: str, place: Place) -> int:
        """How many letters at the end of `text`, which holds no opening, may become part of a marker."""
        ...

    def body(self, opening: str) -> Body: ...


class MarkedForm:
    """Calls that one marker opens, wherever it stands."""

    def __init__(self, opening: str, markers: Collection[str], body: Callable[[], Body]) -> None:
        self._opening, self._markers, self._body = opening, markers, body

    def opening(self, text: str, place: Place) -> tuple[int, int] | None:  # noqa: ARG002
        start = text.find(self._opening)
        return None if start < 0 else (start, start + len(self._opening))

    def held(self, text: str, place: Place) -> int:  # noqa: ARG002
        return held_for(self._markers, text)

    def body(self, opening: str) -> Body:  # noqa: ARG002
        return self._body()


def held_for(markers: Collection[str], text: str) -> int:
    """The length of the longest end of `text` that begins a marker without completing it."""
    longest = max(map(len, markers)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(marker.startswith(text[-length:]) and len(marker) > length for marker in markers):
            return length
    return 0


def written_call(text: str, arguments_member: str, *, also: Collection[str] = ()) -> WrittenCall:
    """The call that a whole JSON object stands for; members besides name and arguments are those in `also`.

    Raises NotACall.
    """
    found = members(text)
    unknown = found.keys() - {"name", arguments_member, *also}
    if unknown:
        raise NotACall(f"it has a member {min(unknown)!r}")
    missing = {"name", arguments_member} - found.keys()
    if missing:
        raise NotACall(f"it has no member {min(missing)!r}")
    name, arguments = text_of(found["name"]), found[arguments_member]
    if name is None or not name.strip() or not name.isprintable():
        raise NotACall("its name is no text")
    if not arguments.startswith("{"):
        raise NotACall("its arguments are no object")
    return WrittenCall(name, arguments, text_of(found["id"]) if "id" in found else None)
