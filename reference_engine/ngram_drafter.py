"""Drafts without a model: what followed the last time that the latest tokens stood in this order."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from reference_engine.sched.request import Request
from reference_engine.spec import Drafting

_LENGTHS = (4, 3, 2)


class NgramIndex:
    """Where each run of a few tokens stood last. It takes in each token of `known`, a list that grows, once."""

    def __init__(self, known: Sequence[int]) -> None:
        self._known = known
        self._taken_in = 0
        self._follows: dict[tuple[int, ...], int] = {}

    def following(self, most: int) -> Sequence[int]:
        """What followed the last tokens where they stood before; the longest such run counts."""
        self._take_in()
        known = self._known
        for length in _LENGTHS:
            at = self._follows.get(tuple(known[-length:])) if length < len(known) else None
            if at is not None:
                return known[at : at + most]
        return ()

    def _take_in(self) -> None:
        """But for the runs at the very end, which nothing follows yet."""
        known = self._known
        for end in range(self._taken_in, len(known)):
            for length in _LENGTHS:
                if length <= end:
                    self._follows[tuple(known[end - length : end])] = end
        self._taken_in = len(known)


class NgramDrafter:
    """Implements Drafter."""

    def __init__(self) -> None:
        self._indexes: WeakKeyDictionary[Request, NgramIndex] = WeakKeyDictionary()

    def proposals(self, drafting: Sequence[Drafting]) -> list[Sequence[int]]:
        return [self._index(each.request).following(each.most) for each in drafting]

    def _index(self, request: Request) -> NgramIndex:
        index = self._indexes.get(request)
        if index is None:
            index = self._indexes[request] = NgramIndex(request.known)
        return index
