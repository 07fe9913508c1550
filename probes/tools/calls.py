"""The calls of one answer, each judged and set against what the case expects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probes.completion import Completion
from probes.quirks import Quirk
from probes.tools.assignment import in_any_order, in_order, match_of, nothing_of
from probes.tools.case import Case, Oracle, Trigger
from probes.tools.exact import exact_hash
from probes.tools.ladder import Climb, Reading, Rung, climb, group_of
from probes.tools.matchers import LeafMatch
from probes.tools.schemas import tool_schemas
from probes.tools.scored import ScoredCall

# A model can make up names of any length.
_LONGEST_NAME = 128
_SAID_OF_REJECTED = {
    Quirk.TC_ARGS_INVALID_JSON: Rung.INVALID_JSON,
    Quirk.TC_UNKNOWN_TOOL: Rung.UNKNOWN_TOOL,
}


@dataclass(frozen=True, slots=True)
class JudgedCalls:
    """`matches` are those of the expected calls, as many as the answer should have made; `missing` of them did not
    come, and `extra` came beside them."""

    scored: tuple[ScoredCall, ...] = ()
    matches: tuple[LeafMatch, ...] = ()
    missing: int = 0
    extra: int = 0

    @property
    def exact(self) -> bool:
        """Whether they are the expected calls, as a plain client has them."""
        return not self.missing and not self.extra and all(call.strict is Rung.OK for call in self.scored)


def judge_calls(case: Case, answer: Completion) -> JudgedCalls:
    """A call that the provider itself found wanting is one that failed: it was made, and no client gets it."""
    if Quirk.TC_PROVIDER_REJECTED in answer.quirks:
        rung = next((_SAID_OF_REJECTED[quirk] for quirk in answer.quirks if quirk in _SAID_OF_REJECTED), None)
        rejected = Reading(rung or Rung.SCHEMA_MISMATCH)
        return _judged(case.oracle, [Climb("", rejected, rejected)])
    tools = tool_schemas(case)
    return _judged(case.oracle, [climb(call, tools) for call in answer.tool_calls])


def _judged(oracle: Oracle, calls: Sequence[Climb]) -> JudgedCalls:
    expected = oracle.calls
    if not calls and oracle.trigger is not Trigger.MUST:
        return JudgedCalls()
    places = in_order(expected, calls) if oracle.ordered else in_any_order(expected, calls)
    matches = {position: _match(oracle, position, calls, place) for position, place in enumerate(places)}
    came = [position for position, place in enumerate(places) if place is not None]
    due = _due(oracle)
    shown = [*came, *(position for position in matches if position not in came)][:due]
    stands_for = {place: position for position, place in enumerate(places) if place is not None}
    scored = (_scored(call, stands_for.get(place), matches, judged=bool(expected)) for place, call in enumerate(calls))
    return JudgedCalls(
        tuple(scored),
        tuple(matches[position] for position in shown),
        missing=max(0, due - len(came)),
        extra=_extra(oracle, len(calls), len(came)),
    )


def _due(oracle: Oracle) -> int:
    """How many of the expected calls an answer should make."""
    return min(len(oracle.calls), oracle.most_calls or len(oracle.calls))


def _extra(oracle: Oracle, made: int, came: int) -> int:
    if oracle.calls:
        return made - min(came, _due(oracle))
    return 0 if oracle.most_calls is None else max(0, made - oracle.most_calls)


def _match(oracle: Oracle, position: int, calls: Sequence[Climb], place: int | None) -> LeafMatch:
    wanted = oracle.calls[position]
    found = None if place is None else match_of(wanted, calls[place])
    return nothing_of(wanted) if found is None else found


def _scored(call: Climb, expected: int | None, matches: dict[int, LeafMatch], *, judged: bool) -> ScoredCall:
    right = not judged or (expected is not None and matches[expected].exact)
    lenient = call.lenient
    return ScoredCall(
        name=call.name[:_LONGEST_NAME],
        strict=_with_values(call.strict.rung, right),
        lenient=_with_values(lenient.rung, right),
        repair=call.repair,
        fault=lenient.fault,
        group=None if lenient.fault is None else group_of(call.name, lenient.fault),
        draft7=lenient.draft7,
        infos=lenient.infos,
        expected=expected,
        judged=judged,
        arguments_sha256=None if lenient.arguments is None else exact_hash(lenient.arguments),
    )


def _with_values(rung: Rung, right: bool) -> Rung:
    return Rung.VALUE_MISMATCH if rung is Rung.OK and not right else rung
