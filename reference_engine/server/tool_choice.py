"""Whether an answer may call tools, has to, and which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import PydanticCustomError

Mode = Literal["auto", "none", "required"]
_MODES: tuple[Mode, ...] = ("auto", "none", "required")


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """`name` is the tool that has to be called, where it is one."""

    mode: Mode
    name: str | None = None


AUTO = ToolChoice("auto")


def read_tool_choice(value: object) -> ToolChoice:
    """As the API has it: a word, or an object that names a function."""
    if value is None:
        return AUTO
    for mode in _MODES:
        if value == mode:
            return ToolChoice(mode)
    match value:
        case {"type": "function", "function": {"name": str(name), **others}, **more} if not others and not more:
            return ToolChoice("required", name)
        case str() | dict():
            raise _wrong("value")
        case _:
            raise _wrong("type")


def _wrong(kind: str) -> Any:
    return PydanticCustomError(
        f"tool_choice_{kind}",
        'tool_choice is "auto", "none", "required" or {form}',
        {"form": '{"type": "function", "function": {"name": NAME}}'},
    )
