"""Surrogate halves that JSON escapes let through: paired where the other half follows, replaced where it does not."""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def has_lone_surrogate(text: str) -> bool:
    """JSON parsing has paired what stood side by side: whatever surrogate is left is half of a pair, alone."""
    return _SURROGATE.search(text) is not None


def paired(text: str) -> str:
    """`text` with adjacent halves joined and the others replaced by U+FFFD, so that it can be encoded."""
    if not has_lone_surrogate(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def paired_json(value: Any) -> Any:
    """`value` with every string in it, keys too, made encodable."""
    if isinstance(value, str):
        return paired(value)
    if isinstance(value, dict):
        return {paired(key): paired_json(item) for key, item in value.items()}
    return [paired_json(item) for item in value] if isinstance(value, list) else value
