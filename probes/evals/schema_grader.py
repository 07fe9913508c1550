"""Grades an answer that is to be JSON of a given form."""

from __future__ import annotations

import re
from typing import Any

from probes.evals.grade import Grade, Reason, right_if, ungradable, wrong
from probes.wire.argument_schema import ArgumentSchema
from probes.wire.json_value import parse_strict_json

_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL)


def grade_json_schema(answer: str, expected: Any, *, fenced: bool = False) -> Grade:
    """`expected` is the schema; `fenced` allows one code block around the JSON."""
    if not isinstance(expected, dict | bool):
        return ungradable(Reason.NO_EXPECTED)
    schema = ArgumentSchema(expected)
    if not schema.judges:
        return ungradable(Reason.INVALID_SCHEMA)
    block = _FENCED.fullmatch(answer) if fenced else None
    try:
        value = parse_strict_json(answer if block is None else block[1])
    except ValueError:
        return wrong(Reason.NOT_JSON)
    return right_if(schema.accepts(value), Reason.SCHEMA)
