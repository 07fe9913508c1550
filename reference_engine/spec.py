"""Speculation: tokens proposed ahead, and verified in one pass. A wrong proposal costs time and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from reference_engine.forward.batch import Page
from reference_engine.sample import Draw
from reference_engine.sched.request import Request


@dataclass(frozen=True, slots=True)
class Drafting:
    """A request that up to `most` tokens may be proposed for, to follow `request.known`.

    All but the last known token are computed; `pages` have room for it and the proposed ones. `draw` says how the token
    at a position will be drawn.
    """

    request: Request
    most: int
    pages: Sequence[Page]
    draw: Callable[[int], Draw]


class Drafter(Protocol):
    """Asked in the pass, before it verifies; one pass at a time."""

    def proposals(self, drafting: Sequence[Drafting]) -> list[Sequence[int]]:
        """Token ids for each of the requests. What goes beyond `most` is not looked at."""
        ...


def proven(drafted: Sequence[int], sampled: Sequence[int]) -> tuple[int, ...]:
    """The sampled tokens up to the first that the drafted ones did not foresee: what comes without any draft."""
    right = 0
    while right < len(drafted) and drafted[right] == sampled[right]:
        right += 1
    return tuple(sampled[: right + 1])
