"""Puts runs of tokens of several sequences together into one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import Batch


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens `ids` of one sequence, the first of which stands at `start`; `pages` are the byte offsets of its pages."""

    ids: Sequence[int]
    start: int
    pages: NDArray[np.int64]


def batch_of(pieces: Sequence[Piece]) -> Batch:
    """One sequence a piece, in order; the distributions of all rows are wanted."""
    lengths = [len(piece.ids) for piece in pieces]
    tables = np.full((len(pieces), max(len(piece.pages) for piece in pieces)), -1, dtype=np.int64)
    for table, piece in zip(tables, pieces, strict=True):
        table[: len(piece.pages)] = piece.pages
    positions = [np.arange(piece.start, piece.start + len(piece.ids)) for piece in pieces]
    return Batch(
        ids=np.concatenate([np.asarray(piece.ids) for piece in pieces]).astype(np.int32),
        positions=np.concatenate(positions).astype(np.int32),
        owners=np.repeat(np.arange(len(pieces)), lengths).astype(np.int32),
        tables=tables,
        read=np.arange(sum(lengths), dtype=np.int32),
    )
