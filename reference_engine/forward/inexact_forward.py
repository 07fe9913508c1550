"""The forward pass as one computes it who does not care for equal bits: what exactness costs is measured against it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import PAGE, Asked, Batch, Forward, ReadOut
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.sample import Draw

Way = Callable[[Batch, NDArray[np.uint8]], NDArray[np.float32]]
"""Computes hidden states over an arena."""

_ANSWERS = 32
_TOKENS = 256
_LEAST_ROWS_OF_A_CHUNK = 8
_TRIALS = 5


class InexactForward:
    """Implements Forward by the quickest of `ways` that have pages in common, found out by trying each with answers
    side by side and with a long chunk of a prompt. `head` reads hidden states, for every way."""

    def __init__(self, head: Forward, ways: Sequence[Way], page_bytes: int, arena: NDArray[np.uint8]) -> None:
        self._head = head
        self._ways = ways
        self._page_bytes = page_bytes
        self._arena = arena
        self._answers = self._chunks = ways[0]

    def settle(self) -> None:
        """Tries the ways, over an arena of its own; until then the first one computes."""
        if len(self._ways) == 1:
            return
        most = -(-_TOKENS // PAGE)
        offsets = np.arange(_ANSWERS * most, dtype=np.int64).reshape(_ANSWERS, most) * self._page_bytes
        arena = np.zeros(offsets.size * self._page_bytes, dtype=np.uint8)
        answers = batch_of([Piece([0], _TOKENS - 1, pages) for pages in offsets])
        chunk = batch_of([Piece([0] * _TOKENS, 0, offsets[0])])
        self._answers, self._chunks = (_quickest(self._ways, batch, arena) for batch in (answers, chunk))

    def first_layers(self, count: int) -> Forward:
        """Those of the kernels: drafts may have any bits."""
        return self._head.first_layers(count)

    def hidden(self, batch: Batch) -> NDArray[np.float32]:
        sequences = len(np.unique(batch.owners))
        way = self._chunks if len(batch.ids) >= _LEAST_ROWS_OF_A_CHUNK * sequences else self._answers
        return way(batch, self._arena)

    def logits(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        return self._head.logits(hidden)

    def read_out(self, hidden: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self._head.read_out(hidden, asked)

    def read_logits(self, logits: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self._head.read_logits(logits, asked)

    def sample(self, logits: NDArray[np.float32], draws: Sequence[Draw]) -> list[int]:
        return self._head.sample(logits, draws)


def _quickest(ways: Sequence[Way], batch: Batch, arena: NDArray[np.uint8]) -> Way:
    """The ways take turns: what else the machine does falls on all."""
    seconds = np.array([[_seconds(way, batch, arena) for way in ways] for _ in range(_TRIALS)])
    return ways[int(seconds.min(axis=0).argmin())]


def _seconds(way: Way, batch: Batch, arena: NDArray[np.uint8]) -> float:
    begun = time.perf_counter()
    way(batch, arena)
    return time.perf_counter() - begun
