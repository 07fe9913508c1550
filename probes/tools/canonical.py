"""Canonical JSON and its hash: equal content has equal text, whatever the order of its keys."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

# Most of any value is one of these, with which there is nothing to do.
_PLAIN = frozenset({str, int, bool, type(None)})


def canonical_json(value: Any) -> str:
    """Keys sorted, no blanks, no escapes that need not be. Raises ValueError naming the place of what is not JSON."""
    return json.dumps(_plain(value, ""), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def sha256_of(value: Any) -> str:
    """The content hash of a JSON value. Raises ValueError as `canonical_json` does."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _plain(value: Any, place: str) -> Any:
    """`value` in JSON's own types; tuples and mappings of other kinds become arrays and objects."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"{place or '/'} has a key that is no string: {key!r}")
        return {key: item if type(item) in _PLAIN else _plain(item, f"{place}/{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [
            item if type(item) in _PLAIN else _plain(item, f"{place}/{position}") for position, item in enumerate(value)
        ]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{place or '/'} is {value}, which JSON has no word for")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"{place or '/'} is a {type(value).__name__}, not JSON")
