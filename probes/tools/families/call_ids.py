"""The ids of calls, in the forms that servers give them."""

from __future__ import annotations

from probes.grammar import Draw

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"  # pragma: allowlist secret
_HEX = "0123456789abcdef"


def call_id(draw: Draw) -> str:
    """As OpenAI and most others have it: call_ and 24 letters."""
    return "call_" + _word(draw, _LETTERS, 24)


def short_id(draw: Draw) -> str:
    """Nine letters, the only form that Mistral's template takes."""
    return _word(draw, _LETTERS, 9)


def named_id(name: str, place: int) -> str:
    """As Kimi has it."""
    return f"functions.{name}:{place}"


def uuid_id(draw: Draw) -> str:
    return "chatcmpl-tool-" + _word(draw, _HEX, 32)


def _word(draw: Draw, letters: str, length: int) -> str:
    return "".join(draw.choice(letters) for _ in range(length))
