"""One planned forward pass: whose rows it runs, which of them are read and why, as entries and as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from reference_engine.forward.batch import NO_CELL, Batch, Page
from reference_engine.sched.request import Request, State


class Reason(Enum):
    """Why a row is read: for the score of the next position, for the next token, or to check a drafted token."""

    SCORE = "score"
    SAMPLE = "sample"
    VERIFY = "verify"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass gave a request: the sampled token, after those of the `drafted` that proved right; whether it ends.

    Empty for a request whose entry does not sample, and for one that has ended.
    """

    tokens: Sequence[int] = ()
    finished: bool = False
    drafted: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """Rows `start` … `start + count - 1` of a request, and behind them room for up to `drafts` drafted tokens.

    Rows from `read_from` on are read. Where `samples`, the last of the `count` rows gives the next token, and each
    drafted token's row the one after it. `pages` is the page table.

    An entry comes about in three steps. Planned while drafts of the request are being verified, it begins where it
    would if all of them proved right, and has pages for that; `settled` at launch, it begins where they were right to;
    in the pass, `drafted` has the tokens that were proposed.
    """

    request: Request
    start: int
    count: int
    read_from: int
    samples: bool
    drafts: int
    pages: tuple[Page, ...]
    drafted: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        return self.count + len(self.drafted)

    @property
    def end(self) -> int:
        return self.start + self.rows

    @property
    def most_rows(self) -> int:
        return self.count + self.drafts

    @property
    def most_sampled(self) -> int:
        return 1 + self.drafts if self.samples else 0

    @property
    def reads(self) -> range:
        return range(max(self.read_from, self.start), self.end)

    def reason(self, row: int) -> Reason:
        sampled = self.start + self.count - 1
        if not self.samples or row < sampled:
            return Reason.SCORE
        return Reason.SAMPLE if row == sampled else Reason.VERIFY

    def settled(self) -> Entry:
        """Rows of a request that has ended stay where they are: nobody reads them."""
        return self if self.request.state is State.FINISHED else replace(self, start=self.request.computed)

    def with_drafts(self, tokens: Sequence[int]) -> Entry:
        drafted = tuple(tokens[: self.drafts])
        return replace(self, drafts=len(drafted), drafted=drafted)

    def ids(self) -> list[int]:
        """Token ids of the rows. A request that has ended without a token (aborted, or failed) runs token 0 in its
        place."""
        known = self.request.known[self.start : self.start + self.count]
        return [*known, *[0] * (self.count - len(known)), *self.drafted]

    def check(self, outcome: Outcome) -> None:
        """ValueError for an outcome that the entry cannot have."""
        if self.start != self.request.computed:
            raise ValueError(f"Request {self.request.id}: its plan was not settled before it was launched.")
        given, most = len(outcome.tokens), 1 + min(outcome.drafted, self.drafts)
        if bool(given) is not self.samples or given > most:
            raise ValueError(
                f"Request {self.request.id} got {given} tokens: none without sampling, else one to {most}."
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """Made for one pass, and committed with what the pass gave.

    `copies` (source, target) are pages to copy before the pass. `borrowed` pages are referenced until it has ended.
    `ahead` says that it was made while the pass before it was still in flight.
    """

    entries: tuple[Entry, ...]
    copies: tuple[tuple[Page, Page], ...]
    borrowed: tuple[Page, ...]
    ahead: bool

    @property
    def rows(self) -> int:
        """At most: drafted tokens may be fewer than there is room for."""
        return sum(entry.most_rows for entry in self.entries)

    def settled(self) -> Plan:
        return replace(self, entries=tuple(entry.settled() for entry in self.entries))

    def with_drafts(self, tokens: Mapping[str, Sequence[int]]) -> Plan:
        """With what was proposed for each request, by its id."""
        return replace(
            self, entries=tuple(entry.with_drafts(tokens.get(entry.request.id, ())) for entry in self.entries)
        )

    def read_lines(self) -> list[tuple[Entry, slice]]:
        """Which lines of the pass's read-outs belong to each entry; the lines are those of `entry.reads`, in order."""
        lines, at = [], 0
        for entry in self.entries:
            lines.append((entry, slice(at, at + len(entry.reads))))
            at += len(entry.reads)
        return lines


def batch_of(plan: Plan) -> Batch:
    """Of a settled plan, with its drafted tokens."""
    ids: list[int] = []
    positions: list[int] = []
    read: list[int] = []
    for entry in plan.entries:
        read += range(len(ids) + entry.reads.start - entry.start, len(ids) + entry.rows)
        ids += entry.ids()
        positions += range(entry.start, entry.end)
    return Batch(
        ids=np.array(ids, dtype=np.int32),
        positions=np.array(positions, dtype=np.int32),
        owners=np.repeat(np.arange(len(plan.entries), dtype=np.int32), [entry.rows for entry in plan.entries]),
        tables=_tables(plan.entries),
        read=np.array(read, dtype=np.int32),
    )


def _tables(entries: Sequence[Entry]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    groups, width = len(entries[0].pages[0]), max(len(entry.pages) for entry in entries)
    tables = np.full((groups, len(entries), width), NO_CELL, dtype=np.int64)
    for line, entry in enumerate(entries):
        for group, cells in enumerate(zip(*entry.pages, strict=True)):
            tables[group, line, : len(cells)] = cells
    return tables
