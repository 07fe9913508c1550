"""A prefix tree over token ids: what was computed for one sequence serves every later one that begins alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import NO_CELL, Page
from reference_engine.kv.holdings import Holdings
from reference_engine.kv.idle import Idle
from reference_engine.kv.integrity import check_nodes
from reference_engine.kv.invariant import require
from reference_engine.kv.node import Node, Path, TokenIds, walk
from reference_engine.kv.page_pools import PagePools
from reference_engine.kv.records import RecordCells, Records, Rows
from reference_engine.kv.subpool import SubPool

Ids = Sequence[int] | NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Match:
    """The longest known prefix of a sequence. `pages` is its page table; the caller holds a reference to each page and
    a lock on `node`. The pages are for reading: who goes on in the middle of the last one does so in a copy."""

    length: int
    pages: list[Page]
    node: Node


class RadixTree:
    """The prefixes that are computed under one profile. Not for several threads at once.

    A page holds positions of its sequence from its own beginning, whichever node refers to it, and two nodes may need
    the same page number. With pages of 16:

        positions   0 ........ 15 | 16 ....... 31 | 32 . 36 37 .... 47 | 48 ...
        parent      [0                                 37)                        pages  p0 p1 p2
        child A                                           [37              ...    pages        p2 p3   cut from parent
        child B                                           [37              ...    pages        q2 q3   came later

    A node refers to every page that its span [start, end) touches. Cutting a node in the middle of a page (A from its
    parent) shares that page between the halves; a sequence that branches off in the middle of one (B) has copied it
    and brings its own, in which the positions before the branch stand too. So a page table takes each page from the
    lowest node that has it, and dropping A leaves p2 to the parent, who needs 32 to 36 of it. A sequence that goes on
    where a leaf ends lengthens the leaf, whose last page gives way to the sequence's fuller one. Equal tokens mean
    equal bytes: what is there already stays, and a newcomer's own copy of it is not kept.

    Only the sequence that allocated a page writes to it, and only behind what it has inserted. So a running sequence
    may insert what it has computed so far and go on writing in its last page.

    Cells of records are referred to in the same way, except that a node's cells speak only of the node's own
    positions: a row is filled at most while a node that refers to the cell has this position in its span.

    Of layers with a sliding window a node may lack the cells of any of its pages: a running sequence gives up what it
    has passed, and so does the tree when memory is short. A prefix is of use where the cells of the last `window`
    tokens are there, and a match is as long as that allows.

    Trees `beside` each other give way in one order (Idle).
    """

    def __init__(
        self, pools: PagePools, records: RecordCells | None = None, *, beside: RadixTree | None = None
    ) -> None:
        self.pools = pools
        self.page = pools.page
        self._root = Node(parent=None, start=0, tokens=np.empty(0, np.int32))
        self._held = Holdings(pools, records)
        self._idle: Idle = Idle() if beside is None else beside._idle

    def match(self, ids: Ids) -> Match:
        """The longest prefix of `ids` that one can go on from, of any length, locked for the caller; its pages have the
        cells that one then looks at."""
        path = self._usable(walk(self._root, _array(ids)))
        table = path.pages(self.page)
        seen = [self.pools.seen(page, number, path.length) for number, page in enumerate(table)]
        self.lock(path.end)
        return Match(path.length, self._held.take(0, path.length, seen), path.end)

    def insert(self, ids: Ids, pages: Sequence[Page]) -> Node:
        """Keeps the computed tokens `ids`, whose page table is `pages`; the node that their end lies in.

        The tree takes its own references to the pages it keeps; the caller's remain the caller's. The node is not
        locked: lock it before anything is evicted if it is to stay.
        """
        tokens = _array(ids)
        require(len(pages) * self.page >= len(tokens), "a page is missing")
        path = walk(self._root, tokens)
        node = path.end
        if path.length < len(tokens):
            if path.length < node.end:
                node = self._cut(node, path.length)
            add = self._branch if node.children or node is self._root else self._lengthen
            node = add(node, tokens, pages)
        if self.pools.windowed:
            for each in _upwards(node):
                self._held.fill_up(each, len(tokens), pages)
        self._touch(node)
        return node

    def lock(self, node: Node) -> None:
        """Nothing that `node` and those above it have is evicted until it is unlocked as often."""
        for each in _upwards(node):
            each.locks += 1
            if each.locks == 1:
                self._idle.remove(each)

    def unlock(self, node: Node) -> None:
        for each in _upwards(node):
            require(each.locks > 0, "a node is unlocked more often than it was locked")
            each.locks -= 1
            if not each.locks:
                self._idle.add(each, self._held)

    def evict(self, pool: SubPool, cells: int) -> bool:
        """Drops what was unused for longest until `pool` could allocate `cells` or nothing is left to drop; whether it
        could. `pool` may be any of the arena: frames change hands."""
        return self._idle.evict(lambda: pool.available() >= cells)

    def make_room(self, cells: Sequence[int]) -> bool:
        """The same for so many cells in each sub-pool of the pages."""
        return self._idle.evict(lambda: self.pools.has_room(cells))

    def clear(self) -> None:
        """Drops everything of this tree that nobody has locked."""
        for node in self._idle.of(self._held):
            while node.pages:
                self._idle.shorten(node)

    def nodes(self) -> Iterator[Node]:
        """All nodes, parents before their children."""
        waiting = list(self._root.children.values())
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children.values())

    def store_records(self, ids: Ids, new: Records) -> bool:
        """Keeps what `new` says of positions of `ids` that are in the tree; False and nothing done for want of room."""
        path = walk(self._root, _array(ids))
        parts = path.within(new.start, new.end)
        missing = sum(self._held.cells(*part).count(NO_CELL) for part in parts)
        self.lock(path.end)
        room = self.evict(self._held.records.pool, missing)
        self.unlock(path.end)
        if room:
            for node, low, high in parts:
                self._held.store(node, new, low, high)
        return room

    def records(self, ids: Ids, start: int, end: int, top_k: int) -> Records:
        """What is known of the positions of `ids` from `start` on, up to `end` or the first that is not known in full:
        the distribution after it to `top_k` entries and its own token's standing. That of `start` itself may be
        missing: it belongs to the row before."""
        path = walk(self._root, _array(ids))
        found: list[Rows] = []
        for node, low, high in path.within(start, end):
            found.append(self._held.known_rows(node, low, high, top_k, first=start))
            if len(found[-1]) < high - low:
                break
        self._touch(path.end)
        return self._held.records.unpack(start, found, top_k)

    def check(self) -> None:
        """That nodes, pages, records, locks and the order of eviction agree."""
        check_nodes(self._root, self._held)
        own = {node: place for place, node in enumerate(self._idle.of(self._held))}
        require(own.keys() == {node for node in self.nodes() if not node.locks}, "the order of eviction is wrong")
        for node, place in own.items():
            require(all(own[child] < place for child in node.children.values()), "a parent would go before its child")

    def _usable(self, path: Path) -> Path:
        """As far as the cells are there that the row after it looks at. Of a page that the lowest node lacks, one above
        it may have the beginning."""
        while (gap := self.pools.last_gap(path.pages(self.page), path.length)) is not None:
            path = path.up_to(max(gap * self.page, path.last_of_page(gap, self.page).start))
        return path

    def _touch(self, node: Node) -> None:
        self.lock(node)
        self.unlock(node)

    def _cut(self, lower: Node, at: int) -> Node:
        """Cuts a node before position `at`. The new one is the upper half; those who have locked `lower` keep both."""
        head = at - lower.start
        upper = Node(lower.parent, lower.start, lower.tokens[:head], locks=lower.locks)
        _hang(upper)
        lower.parent, lower.start, lower.tokens = upper, at, lower.tokens[head:]
        _hang(lower)
        self._held.divide(upper, lower)
        if not upper.locks:
            self._idle.add(upper, self._held)
        return upper

    def _lengthen(self, leaf: Node, tokens: TokenIds, pages: Sequence[Page]) -> Node:
        self._held.extend(leaf, len(tokens), pages)
        leaf.tokens = tokens[leaf.start :].copy()
        return leaf

    def _branch(self, parent: Node, tokens: TokenIds, pages: Sequence[Page]) -> Node:
        node = Node(parent, parent.end, tokens[parent.end :].copy())
        node.pages = self._held.take(node.start, node.end, pages)
        node.cells = [NO_CELL] * len(node.pages)
        _hang(node)
        self._idle.add(node, self._held)
        return node


def _array(ids: Ids) -> TokenIds:
    return np.asarray(ids, dtype=np.int32)


def _hang(node: Node) -> None:
    """Under its parent."""
    node.above.children[int(node.tokens[0])] = node


def _upwards(node: Node) -> Iterator[Node]:
    """The node and those above it, without the root."""
    while node.parent is not None:
        yield node
        node = node.parent
