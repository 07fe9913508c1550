"""When a request had better wait: what it begins with is being computed for another."""

from __future__ import annotations

from reference_engine.forward.batch import PAGE
from reference_engine.sched.request import Request

WORTH_WAITING = 2 * PAGE
"""Tokens. A pass or two go by meanwhile, which would be lost on fewer."""


def computes_for(running: Request, waiting: Request) -> bool:
    """Whether the next tokens that `running` computes, some at least, are those that `waiting` would compute as well.

    Only for one that is more urgent, whose rows come first. It has pages for all its tokens, so that they will be
    computed, or it runs no longer: nobody waits forever.
    """
    soon = running.computed + WORTH_WAITING
    if soon > min(len(running.known), waiting.readable_from) or running.urgency > waiting.urgency:
        return False
    return running.known[:soon] == waiting.known[:soon]
