"""Turns a mistyped name into "did you mean …"."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def suggestion(name: str, known: Collection[str]) -> str:
    """A sentence's end: the nearest known name, else all of them."""
    folded = {option.lower(): option for option in known}
    nearest = get_close_matches(name.lower(), folded, n=1)
    if nearest:
        return f"did you mean '{folded[nearest[0]]}'?"
    return f"known: {', '.join(known)}" if known else "there is none yet"
