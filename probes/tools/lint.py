"""Says what is wrong with a case before it is asked: schemas that judge nothing, answers it would take for right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from probes.tools.case import Case, Category, Leaf
from probes.tools.formats import FORMATS
from probes.tools.mutants import changed_values, mutants
from probes.tools.schemas import compiled
from probes.tools.score import score
from probes.tools.sketch import Drawn, Sketch, right_answer, sample_of
from probes.wire.argument_schema import is_hazardous

# Where the schema itself is what is asked about, it has to tell wrong from right without the oracle's help.
_OF_SCHEMAS = frozenset({Category.T5})


@dataclass(frozen=True, slots=True)
class Lint:
    """`problems` are reasons not to ask the case; `mutants` is how many almost right answers it was tried on."""

    problems: tuple[str, ...]
    mutants: int = 0


def lint(case: Case, right: Sketch | None = None) -> Lint:
    """Whether the case can tell a right answer from those beside it. `right` is one, for a case whose oracle does not
    say enough to make it."""
    problems = [*_of_schemas(case), *_of_patterns(case)]
    if problems:
        return Lint(tuple(problems))
    try:
        answer = right_answer(case) if right is None else Drawn.like(right)
    except ValueError as error:
        return Lint((f"no right answer can be made: {error}",))
    reason = _why_not_right(case, answer)
    if reason is not None:
        made = "the one made from its oracle" if right is None else "its own"
        return Lint((f"no right answer is known: {made} is not accepted ({reason})",))
    tried = list(mutants(case, answer))
    taken = [mutant.change for mutant in tried if _why_not_right(case, mutant.sketch) is None]
    problems = [f"an answer with a change is accepted: {change}" for change in taken]
    if not tried:
        problems.append("nothing was found that it would reject")
    return Lint((*problems, *_blind_spots(case, answer)), len(tried))


def _why_not_right(case: Case, sketch: Drawn) -> str | None:
    """Why an answer is not accepted, None where it is."""
    scored = score(case, sample_of(case, sketch))
    if scored.excluded is not None:
        return f"excluded, {scored.excluded}"
    return None if scored.right else ", ".join(sorted(scored.faults))


def _of_schemas(case: Case) -> Iterator[str]:
    for place, schema in _schemas(case):
        if not compiled(schema, formats=case.formats).primary.judges:
            yield f"{place}: the schema is invalid, or holds a name pattern that can take for ever"
        for keyword, value in _keywords(schema):
            if keyword in ("$ref", "$dynamicRef") and not str(value).startswith("#"):
                yield f"{place}: a reference leads out of the schema"
            if keyword == "pattern" and isinstance(value, str) and is_hazardous(value):
                yield f"{place}: a pattern can take for ever"
            if keyword == "format" and case.formats and value not in FORMATS:
                yield f"{place}: a format that is not checked; those are {', '.join(sorted(FORMATS))}"


def _schemas(case: Case) -> Iterator[tuple[str, Any]]:
    for name, parameters in case.tools.items():
        if parameters is not None:
            yield f"tool {name}", parameters
    if case.oracle.content_schema is not None:
        yield "content", case.oracle.content_schema


def _keywords(schema: Any) -> Iterator[tuple[str, Any]]:
    """Every key and value inside a schema; a property that is called like a keyword has an object for its value."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if not isinstance(value, Mapping):
                yield key, value
            yield from _keywords(value)
    elif isinstance(schema, list | tuple):
        for item in schema:
            yield from _keywords(item)


def _of_patterns(case: Case) -> Iterator[str]:
    leaves = {place: leaf for call in case.oracle.calls for place, leaf in call.args.items()}
    if case.oracle.content is not None:
        leaves["content"] = case.oracle.content
    for place, leaf in leaves.items():
        if leaf.match == "regex" and (problem := _of_regex(leaf)) is not None:
            yield f"{place}: {problem}"


def _of_regex(leaf: Leaf) -> str | None:
    try:
        re.compile(leaf.value)
    except re.error:
        return "a regex that does not compile"
    return "a regex that can take for ever" if is_hazardous(leaf.value) else None


def _blind_spots(case: Case, right: Drawn) -> Iterator[str]:
    """Changes to a right value of which the schema alone rejects none."""
    formats = case.formats
    if case.category in _OF_SCHEMAS:
        for call in right.calls:
            schema = case.tools[call.name]
            yield from (f"tool {call.name}: {spot}" for spot in _unseen(schema, json.loads(call.arguments), formats))
    if case.oracle.content_schema is not None and right.content is not None and not right.calls:
        yield from (
            f"content: {spot}" for spot in _unseen(case.oracle.content_schema, json.loads(right.content), formats)
        )


def _unseen(schema: Any, value: Any, formats: bool) -> Iterator[str]:
    judge = compiled(schema, formats=formats).primary
    rejected: dict[str, bool] = {}
    for changed in changed_values(value):
        rejected[changed.kind] = rejected.get(changed.kind, False) or not judge.accepts(changed.value)
    kinds = {"drop": "a missing key", "add": "a key too many", "type": "another type"}
    if any(keyword in ("enum", "const") for keyword, _ in _keywords(schema)):
        kinds["value"] = "a value outside of enum or const"
    for kind, change in kinds.items():
        if not rejected.get(kind, False):
            yield f"the schema rejects no value with {change}"
