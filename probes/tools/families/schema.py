"""Tools with closed schemas: an open one accepts almost anything, and so cannot fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


def tool(name: str, description: str, parameters: Schema) -> dict[str, Any]:
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def closed(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object with these properties and no others, all required but the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def text(description: str, **limits: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **limits}


def whole(description: str, low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "description": description, "minimum": low, "maximum": high}


def one_of(description: str, options: list[str]) -> dict[str, Any]:
    return {"type": "string", "description": description, "enum": options}


def rows(item: Schema, least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}
