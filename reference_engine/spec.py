"""Speculation: tokens proposed ahead, and verified in one pass. A wrong proposal costs time and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from reference_engine.sched.request import Request

_LONGEST, _SHORTEST = 4, 2


def ngram_drafts(request: Request, most: int) -> Sequence[int]:
    """What followed the last time that the latest tokens stood in this order; the longest such run counts."""
    known = request.known
    for length in range(min(_LONGEST, len(known) - 1), _SHORTEST - 1, -1):
        last = known[-length:]
        for at in range(len(known) - length - 1, -1, -1):
            if known[at : at + length] == last:
                return known[at + length : at + length + most]
    return ()
