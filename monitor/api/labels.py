"""`label.NAME=VALUE` in a query: a list cut to what carries these labels."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import Depends, Request

from monitor.errors import Finding, RequestError

_PREFIX = "label."
_MOST = 8
# Both go into a path within a JSON column, or beside it.
_NAME = re.compile(r"[\w.:/@+ -]{1,64}")
_VALUE = re.compile(r"[^\x00\ud800-\udfff]{0,512}")

# OpenAPI names no parameter by a pattern; the properties of an exploded object are what comes closest.
LABELLED: dict[str, Any] = {
    "parameters": [
        {
            "name": "labels",
            "in": "query",
            "required": False,
            "description": f"`label.NAME=VALUE`: those whose label has this value; up to {_MOST} of them.",
            "style": "form",
            "explode": True,
            "schema": {
                "type": "object",
                "propertyNames": {"pattern": r"^label\.[A-Za-z0-9_.:/@+ -]{1,64}$"},
                "additionalProperties": {"type": "string", "maxLength": 512},
                "maxProperties": _MOST,
            },
        }
    ]
}


def _labels(request: Request) -> dict[str, str]:
    given = [
        (name.removeprefix(_PREFIX), value)
        for name, value in request.query_params.multi_items()
        if name.startswith(_PREFIX)
    ]
    labels = dict(given)
    if len(labels) < len(given) or len(labels) > _MOST:
        raise _refused(f"at most {_MOST}, each once")
    if not all(_NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, value in given):
        raise _refused("a name of 1 to 64 letters, digits and signs, and a value of at most 512 characters")
    return labels


def _refused(what: str) -> RequestError:
    return RequestError(f"The labels cannot be used: {what}.", findings=[Finding("/query/label", "label", what)])


Labels = Annotated[dict[str, str], Depends(_labels)]
