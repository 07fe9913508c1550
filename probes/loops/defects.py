"""The protocol defects that make a loop fail, and those after which it cannot even go on."""

from __future__ import annotations

from enum import StrEnum

from probes.completion import Completion
from probes.quirks import Quirk


class LoopDefect(StrEnum):
    """What only a loop can show."""

    HISTORY_REFUSED = "HISTORY_REFUSED"
    """The endpoint turns down a conversation made of its own answers and their results."""
    ID_REUSED = "ID_REUSED"
    """A call has the id of one of an earlier turn."""
    EMPTY_ANSWER = "EMPTY_ANSWER"
    """Neither a call nor a word."""
    TOO_MANY_CALLS = "TOO_MANY_CALLS"
    """More calls in one turn than anything could want."""


# After these nobody can say which calls were meant, or tell the endpoint what they brought.
ENDING = frozenset(
    {
        Quirk.FINISH_TOOLS_WITHOUT_CALLS,
        Quirk.TC_ID_DUPLICATE,
        Quirk.TC_AS_TEXT,
        Quirk.TC_PROVIDER_REJECTED,
        Quirk.TC_REPETITION_RUNAWAY,
        Quirk.REASONING_ONLY,
    }
)
# The stack's doing: a client that reads by the contract is misled by these, a careful one goes on.
_MISLEADING = frozenset(
    {
        Quirk.FINISH_DUPLICATE,
        Quirk.FINISH_STOP_WITH_TOOL_CALLS,
        Quirk.TC_ARGS_DUPLICATED,
        Quirk.TC_ARGS_PREFIX_JUNK,
        Quirk.TC_ARGS_TYPE_STRINGIFIED,
        Quirk.SPECIAL_TOKEN_LEAK,
        Quirk.REPLACEMENT_CHAR,
    }
)


def defects_of(completion: Completion) -> tuple[Quirk, ...]:
    """The quirks of an answer that are defects in a loop. What is merely repaired on reading is none."""
    return tuple(quirk for quirk in completion.quirks if quirk in ENDING | _MISLEADING)
