"""The sections of a plain document and where they stand, for the rules that hold between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from monitor.config.problems import KeyPath

Finding = tuple[KeyPath, str]
PlainSection = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """A section and where it stands."""

    section: PlainSection
    path: KeyPath


def places(value: object, path: KeyPath) -> Iterator[Place]:
    """The sections of a list; whatever has the wrong shape is left to the schema."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, Mapping):
                yield Place(item, (*path, index))


def mapping(value: object) -> PlainSection:
    return value if isinstance(value, Mapping) else {}


def repeated(found: list[Place], key: str) -> Iterator[Finding]:
    """A finding for each section whose `key` an earlier one has."""
    seen: set[str] = set()
    for place in found:
        value = place.section.get(key)
        if not isinstance(value, str):
            continue
        if value in seen:
            yield (*place.path, key), f"is taken by an earlier entry; {key}s must differ"
        seen.add(value)
