"""Log-probabilities that were computed once: what is kept of each position, and the cells it is kept in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import PAGE, ReadOut
from reference_engine.kv.arena import Arena

Rows = NDArray[np.void]
"""One row per position, of the fields of Records and `width`, the number of top entries that are there."""


@dataclass(frozen=True, slots=True)
class Records:
    """Of n consecutive positions from `start` on: the distribution after each, and how its own token stood in the
    distribution before it.

    log_normaliser [n] float64 (nan for none); top_ids [n, k] int32 and top_logits [n, k] float32 by (-logit, id);
    own_logit [n] float32 (nan for none); own_rank [n] int32 (-1 for none).
    """

    start: int
    log_normaliser: NDArray[np.float64]
    top_ids: NDArray[np.int32]
    top_logits: NDArray[np.float32]
    own_logit: NDArray[np.float32]
    own_rank: NDArray[np.int32]

    @property
    def end(self) -> int:
        return self.start + len(self.log_normaliser)

    @property
    def top_k(self) -> int:
        return int(self.top_ids.shape[1])


def records_of_rows(start: int, rows: ReadOut) -> Records:
    """Of the rows at positions `start` on, each read out with the token that follows as its own token: that token
    stands one position later, so there is one position more than rows."""
    k = rows.top_ids.shape[1]
    return Records(
        start=start,
        log_normaliser=np.append(rows.log_normaliser, np.nan),
        top_ids=np.concatenate([rows.top_ids, np.zeros((1, k), np.int32)]),
        top_logits=np.concatenate([rows.top_logits, np.zeros((1, k), np.float32)]),
        own_logit=np.concatenate([np.array([np.nan], np.float32), rows.own_logit]),
        own_rank=np.concatenate([np.array([-1], np.int32), rows.own_rank]),
    )


class RecordCells:
    """A sub-pool whose cells hold the rows of one page each, with up to `top_k` entries of each distribution."""

    def __init__(self, arena: Arena, top_k: int, *, page: int = PAGE, name: str = "logprobs") -> None:
        self.page = page
        self.row = np.dtype(
            [
                ("log_normaliser", np.float64),
                ("top_ids", np.int32, (top_k,)),
                ("top_logits", np.float32, (top_k,)),
                ("own_logit", np.float32),
                ("own_rank", np.int32),
                ("width", np.int32),
            ],
            align=True,
        )
        self.pool = arena.pool(name, page * self.row.itemsize)

    def allocate(self) -> int:
        """A cell in which nothing is recorded yet. The caller has seen to it that there is room."""
        cells = self.pool.allocate(1)
        if cells is None:
            raise AssertionError("no room for records")
        self.erase(cells[0], 0, self.page)
        return cells[0]

    def read(self, cells: Sequence[int]) -> Rows:
        """A copy of the rows of these cells, one after the other."""
        buffer, size = self.pool.arena.buffer, self.pool.cell_bytes
        return np.concatenate([buffer[cell : cell + size] for cell in cells]).view(self.row)

    def write(self, cells: Sequence[int], rows: Rows) -> None:
        buffer, size = self.pool.arena.buffer, self.pool.cell_bytes
        for cell, content in zip(cells, rows.view(np.uint8).reshape(-1, size), strict=True):
            buffer[cell : cell + size] = content

    def erase(self, cell: int, start: int, end: int) -> None:
        """Nothing is recorded any longer in rows [start, end) of a cell."""
        rows = self.read([cell])
        blank(rows[start:end])
        self.write([cell], rows)

    def unpack(self, start: int, parts: Sequence[Rows], top_k: int) -> Records:
        rows = np.concatenate(parts) if parts else np.empty(0, self.row)
        return Records(
            start=start,
            log_normaliser=rows["log_normaliser"].copy(),
            top_ids=rows["top_ids"][:, :top_k].copy(),
            top_logits=rows["top_logits"][:, :top_k].copy(),
            own_logit=rows["own_logit"].copy(),
            own_rank=rows["own_rank"].copy(),
        )


def blank(rows: Rows) -> None:
    """Makes them say that nothing is known."""
    rows["log_normaliser"] = np.nan
    rows["own_logit"] = np.nan
    rows["own_rank"] = -1
    rows["width"] = 0


def merge(rows: Rows, new: Records, low: int, high: int) -> None:
    """Adds to the rows of positions [low, high) what `new` knows of them; a longer top stays."""
    part = slice(low - new.start, high - new.start)
    width = min(new.top_k, rows["top_ids"].shape[1])
    after = ~np.isnan(new.log_normaliser[part]) & (np.isnan(rows["log_normaliser"]) | (rows["width"] <= width))
    rows["log_normaliser"][after] = new.log_normaliser[part][after]
    rows["top_ids"][after, :width] = new.top_ids[part][after, :width]
    rows["top_logits"][after, :width] = new.top_logits[part][after, :width]
    rows["width"][after] = width
    own = new.own_rank[part] >= 0
    rows["own_logit"][own] = new.own_logit[part][own]
    rows["own_rank"][own] = new.own_rank[part][own]


def known(rows: Rows, top_k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """[n] of each position: is the distribution after it known to `top_k` entries; is its own token's standing."""
    return ~np.isnan(rows["log_normaliser"]) & (rows["width"] >= top_k), rows["own_rank"] >= 0
