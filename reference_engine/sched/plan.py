"""One planned forward pass: whose rows it runs, which of them are read and why, as entries and as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from reference_engine.forward.batch import Batch
from reference_engine.sched.request import Request

PENDING = -1
"""Stands in `Batch.ids` for a token that the pass in flight has yet to sample; `filled` puts the token there."""


class Reason(Enum):
    """Why a row is read: for the score of the next position, for the next token, or to check a drafted token."""

    SCORE = "score"
    SAMPLE = "sample"
    VERIFY = "verify"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass gave a request: the sampled token, after the drafted ones that proved right, and whether it ends.

    Empty for a request whose entry does not sample, and for one that has ended.
    """

    tokens: Sequence[int] = ()
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """Rows `start` … `start + count - 1` of a request; the last ones are those of `drafted`.

    Rows from `read_from` on are read. Where `samples`, the row of the last token before the drafted ones gives the
    next token, and each drafted token's row the one after it. `pages` is the page table.
    """

    request: Request
    start: int
    count: int
    read_from: int
    samples: bool
    drafted: tuple[int, ...]
    pages: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.start + self.count

    @property
    def reads(self) -> range:
        return range(max(self.read_from, self.start), self.end)

    def reason(self, row: int) -> Reason:
        sampled = self.end - len(self.drafted) - 1
        if not self.samples or row < sampled:
            return Reason.SCORE
        return Reason.SAMPLE if row == sampled else Reason.VERIFY

    def ids(self) -> list[int]:
        """Token ids of the rows as far as they are known now, PENDING for the others."""
        known = self.request.known[self.start : self.end - len(self.drafted)]
        unknown = self.count - len(self.drafted) - len(known)
        return [*known, *[PENDING] * unknown, *self.drafted]

    def check(self, outcome: Outcome) -> None:
        """ValueError for an outcome that the entry cannot have."""
        tokens = tuple(outcome.tokens)
        right = tokens[:-1] == self.drafted[: len(tokens) - 1] if tokens else True
        if bool(tokens) is not self.samples or len(tokens) > len(self.drafted) + 1 or not right:
            raise ValueError(
                f"Request {self.request.id} got {len(tokens)} tokens: none without sampling, else one to "
                f"{len(self.drafted) + 1}, all but the last as drafted."
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """Made for one pass, and committed with what the pass gave.

    `copies` (source, target) are pages to copy before the pass. `borrowed` pages are referenced until it has ended.
    `ahead` says that it was made while the pass before it was still in flight.
    """

    entries: tuple[Entry, ...]
    copies: tuple[tuple[int, int], ...]
    borrowed: tuple[int, ...]
    ahead: bool

    @property
    def rows(self) -> int:
        return sum(entry.count for entry in self.entries)

    def read_lines(self) -> list[tuple[Entry, slice]]:
        """Which lines of the pass's read-outs belong to each entry; the lines are those of `entry.reads`, in order."""
        lines, at = [], 0
        for entry in self.entries:
            lines.append((entry, slice(at, at + len(entry.reads))))
            at += len(entry.reads)
        return lines


def batch_of(plan: Plan) -> Batch:
    ids: list[int] = []
    positions: list[int] = []
    read: list[int] = []
    for entry in plan.entries:
        read += range(len(ids) + entry.reads.start - entry.start, len(ids) + entry.count)
        ids += entry.ids()
        positions += range(entry.start, entry.end)
    return Batch(
        ids=np.array(ids, dtype=np.int32),
        positions=np.array(positions, dtype=np.int32),
        owners=np.repeat(np.arange(len(plan.entries), dtype=np.int32), [entry.count for entry in plan.entries]),
        tables=_tables(plan.entries),
        read=np.array(read, dtype=np.int32),
    )


def filled(batch: Batch, plan: Plan) -> Batch:
    """The batch at launch, once the plan before it is committed.

    A request that has ended without the token (aborted, or failed) runs token 0 in its place: nobody reads that row.
    """
    ids = batch.ids.copy()
    for row in np.flatnonzero(ids == PENDING):
        known = plan.entries[batch.owners[row]].request.known
        position = batch.positions[row]
        ids[row] = known[position] if position < len(known) else 0
    return replace(batch, ids=ids)


def _tables(entries: Sequence[Entry]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    tables = np.full((len(entries), max(len(entry.pages) for entry in entries)), -1, dtype=np.int64)
    for line, entry in zip(tables, entries, strict=True):
        line[: len(entry.pages)] = entry.pages
    return tables
