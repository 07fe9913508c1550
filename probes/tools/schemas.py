"""A case's schemas, compiled once: the verdict that counts, and those that stand beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from probes.tools.canonical import canonical_json
from probes.tools.case import Case
from probes.tools.formats import CHECKER
from probes.wire.argument_schema import DRAFT_7, WRITTEN_INTEGERS, ArgumentSchema, SchemaFault
from probes.wire.json_value import as_object

# A suite's schemas, each compiled in milliseconds. Cases are kept with their requests, so only a few of them.
_COMPILED = 1_024
_CASES = 64


@dataclass(frozen=True, slots=True)
class SchemaVerdict:
    """`fault` is by draft 2020-12, None where the value passes. `draft7` is whether it passes by draft 7, as some
    gateways judge; `int_as_float` whether it passes only because 2.0 counts as an integer."""

    fault: SchemaFault | None
    draft7: bool
    int_as_float: bool


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """`requires` is whether there is an argument that must be there."""

    primary: ArgumentSchema
    beside: ArgumentSchema
    as_written: ArgumentSchema
    requires: bool

    def judge(self, value: Any) -> SchemaVerdict:
        fault = self.primary.fault(value)
        return SchemaVerdict(fault, self.beside.accepts(value), fault is None and not self.as_written.accepts(value))


def compiled(schema: object, *, formats: bool) -> CompiledSchema:
    """The schema with its formats asserted or not. Its keywords are tried in the order of their names, so that
    the first fault does not hang on how the schema is written down."""
    return _compiled(canonical_json(schema), formats)


@lru_cache(_CASES)
def tool_schemas(case: Case) -> Mapping[str, CompiledSchema]:
    """The schemas of the tools that the case declares, by name."""
    return {name: compiled(parameters, formats=case.formats) for name, parameters in case.tools.items()}


@lru_cache(_COMPILED)
def _compiled(text: str, formats: bool) -> CompiledSchema:
    schema, checker = json.loads(text), CHECKER if formats else None
    return CompiledSchema(
        ArgumentSchema(schema, formats=checker),
        ArgumentSchema(schema, dialect=DRAFT_7, formats=checker),
        ArgumentSchema(schema, dialect=WRITTEN_INTEGERS, formats=checker),
        requires=bool(as_object(schema).get("required")),
    )
