"""JSON pointers (RFC 6901) into arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final


class Missing:
    """What stands where a pointer leads nowhere; null is something else."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


def resolve(pointer: str, value: Any) -> Any:
    """The value at `pointer`, MISSING where there is none."""
    for step in steps(pointer):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _is_index(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


def steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def below(pointer: str, step: str | int) -> str:
    """The pointer one step further."""
    return f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}"


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar and empty container of `value` with its place."""
    if not value or not isinstance(value, dict | list):
        yield pointer, value
        return
    for step, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(item, below(pointer, step))


def upward(pointer: str) -> Iterator[str]:
    """`pointer` and every place above it."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]
    yield ""


def _is_index(step: str) -> bool:
    return step.isascii() and step.isdigit() and (step == "0" or not step.startswith("0")) and len(step) < 10
