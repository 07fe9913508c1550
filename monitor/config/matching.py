"""Which labels a `match` means: every one that it names has to fit, and none named fits everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def matches(matchers: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether each label that `matchers` names is there and fits its pattern."""
    return all(name in labels and fits(pattern, labels[name]) for name, pattern in matchers.items())


def fits(pattern: str, text: str) -> bool:
    """Whether `text` is what `pattern` says; `*` stands for any characters, also none."""
    first, *middle = pattern.split("*")
    if not middle:
        return text == pattern
    last = middle.pop()
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True
