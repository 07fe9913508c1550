"""The pages and the cells of records that nodes of the prefix tree refer to, found by position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference_engine.forward.batch import NO_CELL, Page
from reference_engine.kv.invariant import require
from reference_engine.kv.node import Node
from reference_engine.kv.page_pools import PagePools
from reference_engine.kv.records import RecordCells, Records, Rows, known, merge


class Holdings:
    """Keeps the references of nodes in step with their spans. Page number n holds positions [n·page, (n+1)·page)."""

    def __init__(self, pages: PagePools, records: RecordCells | None) -> None:
        require(records is None or records.page == pages.page, "a cell of records holds the positions of one page")
        self.pages = pages
        self.page = pages.page
        self._records = records

    @property
    def records(self) -> RecordCells:
        if self._records is None:
            raise AssertionError("this tree keeps no records")
        return self._records

    def take(self, start: int, end: int, table: Sequence[Page]) -> list[Page]:
        """The pages of a page table that positions [start, end) touch, with a reference to each."""
        taken = list(table[start // self.page : -(-end // self.page)])
        for page in taken:
            self.pages.share(page)
        return taken

    def fill_up(self, node: Node, end: int, table: Sequence[Page]) -> None:
        """Gives a node the cells that it lacks and the page table of a sequence has, which ends at `end`."""
        for place, number in enumerate(range(node.first_page(self.page), end // self.page + 1)):
            if place == len(node.pages) or min(node.end, (number + 1) * self.page) > end:
                return
            own, other = node.pages[place], table[number]
            if NO_CELL not in own:
                continue
            new = tuple(cell if lacks == NO_CELL else NO_CELL for lacks, cell in zip(own, other, strict=True))
            self.pages.share(new)
            node.pages[place] = tuple(map(max, own, new))

    def drop_passed(self, node: Node) -> bool:
        """Lets go of the first cells that nobody who goes on at the node's end looks at; whether there were any."""
        for place, number in enumerate(range(node.first_page(self.page), node.end // self.page)):
            whole = node.pages[place]
            node.pages[place] = self.pages.seen(whole, number, node.end)
            if node.pages[place] != whole:
                pairs = zip(whole, node.pages[place], strict=True)
                self.pages.release(tuple(cell if kept == NO_CELL else NO_CELL for cell, kept in pairs))
                return True
        return False

    def in_use(self, leaf: Node) -> bool:
        """Whether others than nodes have the last page of a leaf, so that dropping it frees nothing."""
        cells = enumerate(zip(self.pages.pools, leaf.pages[-1], strict=True))
        return any(pool.references(cell) > _nodes_with(leaf, group) for group, (pool, cell) in cells if cell != NO_CELL)

    def extend(self, leaf: Node, end: int, table: Sequence[Page]) -> None:
        """Gives a leaf the pages up to `end`; its last page, if filled in part, gives way to the fuller one."""
        new = self.take(leaf.end, end, table)
        kept = leaf.end // self.page - leaf.first_page(self.page)
        for page in leaf.pages[kept:]:
            self.pages.release(page)
        leaf.pages[kept:] = new
        leaf.cells += [NO_CELL] * (len(leaf.pages) - len(leaf.cells))

    def divide(self, upper: Node, lower: Node) -> None:
        """Hands the pages of `lower` before its start to `upper`; both keep the one that the cut goes through."""
        first = upper.first_page(self.page)
        upper_end, lower_start = -(-lower.start // self.page) - first, lower.start // self.page - first
        upper.pages, upper.cells = lower.pages[:upper_end], lower.cells[:upper_end]
        lower.pages, lower.cells = lower.pages[lower_start:], lower.cells[lower_start:]
        if lower_start < upper_end:
            self.pages.share(lower.pages[0])
            if lower.cells[0] != NO_CELL:
                self.records.pool.share(lower.cells[0])

    def drop_last(self, leaf: Node) -> int:
        """Lets go of a leaf's last page; the position where the leaf ends without it."""
        number = leaf.first_page(self.page) + len(leaf.pages) - 1
        end = max(leaf.start, number * self.page)
        self.pages.release(leaf.pages.pop())
        cell = leaf.cells.pop()
        if cell != NO_CELL:
            if self.records.pool.references(cell) > 1:  # a node above keeps it for its own positions
                self.records.erase(cell, end - number * self.page, leaf.end - number * self.page)
            self.records.pool.release(cell)
        return end

    def cells(self, node: Node, low: int, high: int) -> list[int]:
        """The cells of positions [low, high) of a node, NO_CELL for those that are not there."""
        first = node.first_page(self.page)
        return node.cells[low // self.page - first : -(-high // self.page) - first]

    def store(self, node: Node, new: Records, low: int, high: int) -> None:
        first = low // self.page - node.first_page(self.page)
        own = [self.records.allocate() if cell == NO_CELL else cell for cell in self.cells(node, low, high)]
        node.cells[first : first + len(own)] = own
        rows, before = self.records.read(own), low // self.page * self.page
        merge(rows[low - before : high - before], new, low, high)
        self.records.write(own, rows)

    def known_rows(self, node: Node, low: int, high: int, top_k: int, *, first: int) -> Rows:
        """The rows from `low` on, up to the first that is not known in full. Position `first` need not know how its own
        token stood."""
        own = self.cells(node, low, high)
        if NO_CELL in own:
            own = own[: own.index(NO_CELL)]
        if not own:
            return np.empty(0, self.records.row)
        before = low // self.page * self.page
        rows = self.records.read(own)[low - before : high - before]
        after, standing = known(rows, top_k)
        standing[0] |= low == first
        gaps = np.flatnonzero(~(after & standing))
        return rows[: gaps[0]] if gaps.size else rows


def _nodes_with(leaf: Node, group: int) -> int:
    """How many nodes refer to a group's cell of a leaf's last page: those that cuts in this page have made."""
    cell, node, count = leaf.pages[-1][group], leaf.above, 1
    while node.pages and node.pages[-1][group] == cell:
        node, count = node.above, count + 1
    return count
