"""Puts runs of tokens of several sequences together into one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import Batch


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens `ids` of one sequence, the first of which stands at `start`; `pages` are the byte offsets of its pages, a
    line for each layer group. Of a model without windows one line may stand alone."""

    ids: Sequence[int]
    start: int
    pages: NDArray[np.int64]


def batch_of(pieces: Sequence[Piece]) -> Batch:
    """One sequence a piece, in order; the distributions of all rows are wanted."""
    lengths = [len(piece.ids) for piece in pieces]
    lines = [np.atleast_2d(piece.pages) for piece in pieces]
    tables = np.full((len(lines[0]), len(pieces), max(line.shape[1] for line in lines)), -1, dtype=np.int64)
    for number, line in enumerate(lines):
        tables[:, number, : line.shape[1]] = line
    positions = [np.arange(piece.start, piece.start + len(piece.ids)) for piece in pieces]
    return Batch(
        ids=np.concatenate([np.asarray(piece.ids) for piece in pieces]).astype(np.int32),
        positions=np.concatenate(positions).astype(np.int32),
        owners=np.repeat(np.arange(len(pieces)), lengths).astype(np.int32),
        tables=tables,
        read=np.arange(sum(lengths), dtype=np.int32),
    )
