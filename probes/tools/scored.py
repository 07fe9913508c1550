"""What one answer to a case amounts to: plain facts, from which every rate is counted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.case import Category, Trigger
from probes.tools.ladder import Info, Repair, Rung
from probes.tools.matchers import LeafMatch
from probes.wire.argument_schema import SchemaFault


class Exclusion(StrEnum):
    """Why an answer says nothing of quality."""

    TRANSPORT = "transport"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    """A 4xx to a request that should have been answered."""
    CONTENT_FILTER = "content_filter"
    LENGTH = "length"
    """Cut by `max_tokens` in a case that is not about that: not the same as no call."""
    UNCUT = "uncut"
    """Ended by itself in a case that wanted it cut."""


class Fault(StrEnum):
    """What an answer does not meet of its oracle."""

    NOT_CALLED = "not_called"
    CALLED = "called"
    CALL_AS_TEXT = "call_as_text"
    CALL_IN_REASONING = "call_in_reasoning"
    CALL_BROKEN = "call_broken"
    """A call fails before its values are looked at."""
    CALL_MISSING = "call_missing"
    CALL_EXTRA = "call_extra"
    VALUES = "values"
    FINISH = "finish"
    CALL_COMPLETED = "call_completed"
    """Arguments that `max_tokens` cut came whole, as no model wrote them."""
    CONTENT = "content"
    CONTENT_NOT_JSON = "content_not_json"
    CONTENT_SCHEMA = "content_schema"
    REASONING_MISSING = "reasoning_missing"
    REASONING_PRESENT = "reasoning_present"
    REASONING_LEAKED = "reasoning_leaked"
    NOT_REFUSED = "not_refused"
    REFUSAL_UNNAMED = "refusal_unnamed"
    """Refused, without a word of what is refused."""


@dataclass(frozen=True, slots=True)
class ScoredCall:
    """One call. `strict` and `lenient` are the rungs it fails at as it came and after `repair`.

    fault, group, draft7: of the lenient reading; the schema's first fault, the name of its kind, and whether draft 7
    accepts the arguments (None where there are none to judge). expected: which of the case's calls it stands for.
    judged: whether the case says which calls are right. arguments_sha256: of the exact arguments, None where they are
    no object of a known tool.
    """

    name: str
    strict: Rung
    lenient: Rung
    repair: Repair | None = None
    fault: SchemaFault | None = None
    group: str | None = None
    draft7: bool | None = None
    infos: frozenset[Info] = frozenset()
    expected: int | None = None
    judged: bool = False
    arguments_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Availability:
    """How a sample's tries went. A try that was turned away for its form and sent again in another is none.

    first_ok: the first try brought an answer that is whole and no error. eventually_ok: one of them did.
    shed: the first was answered 429, 503 or 529.
    """

    first_ok: bool
    eventually_ok: bool
    shed: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """One sample of a case, scored. What was not looked at is None.

    layer: where the answer went wrong, or where its defects lie if it is right. completed: it is whole. called: at
    least one call was parsed. matches: for each expected call how its values came, where calling was right.
    missed_as_text: of an answer without calls, whether its text holds one. right, right_repaired: whether the oracle is
    met by the calls as they came, and as repaired; `faults` are those of the former.
    """

    case_key: str
    category: Category
    family: str
    trigger: Trigger
    anchor: bool
    rep: int
    stream: bool
    availability: Availability
    completed: bool
    layer: Layer | None = None
    excluded: Exclusion | None = None
    defects: frozenset[Quirk] = frozenset()
    finish_reason: str | None = None
    called: bool | None = None
    calls: tuple[ScoredCall, ...] = ()
    matches: tuple[LeafMatch, ...] = ()
    finish_agrees: bool | None = None
    missed_as_text: bool | None = None
    parallel_exact: bool | None = None
    content_fault: SchemaFault | None = None
    faults: frozenset[Fault] = frozenset()
    right: bool | None = None
    right_repaired: bool | None = None

    @property
    def item_key(self) -> str:
        """Of the plan's item that it answers."""
        return f"{self.case_key}-{'stream' if self.stream else 'plain'}"
