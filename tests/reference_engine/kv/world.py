"""Sequences that share an arena and two prefix trees, beside a dictionary that says what must be there.

What stands at a position is a function of the profile and the tokens up to it, so that every byte and every record can
be told from every other and checked wherever it turns up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from reference_engine.forward.batch import NO_CELL, Page
from reference_engine.kv.arena import Arena
from reference_engine.kv.node import Node
from reference_engine.kv.page_pools import PagePools
from reference_engine.kv.radix import RadixTree
from reference_engine.kv.records import RecordCells, Records
from reference_engine.kv.subpool import SubPool

PAGE = 4
TOP_K = 2
POSITION_BYTES = 8
WINDOW = 6
LAYERS = 2
"""Of the group that has the window; the other has one."""
PROFILES = (0, 1)

Prefix = tuple[int, ...]


@lru_cache(maxsize=4096)
def content(profile: int, ids: Prefix) -> bytes:
    """What computing these tokens writes, position after position."""
    seeds = [hash((profile, ids[: at + 1])) for at in range(len(ids))]
    return b"".join(seed.to_bytes(POSITION_BYTES, "little", signed=True) for seed in seeds)


def records_of(profile: int, ids: Prefix, start: int, end: int, top_k: int) -> Records:
    """What is true of positions [start, end), and what rows at these positions would not tell: how the first of these
    tokens stood in the distribution before it."""
    seeds = np.array([hash((profile, ids[: at + 1])) % 10_007 for at in range(start, end)], np.int64)
    k = np.arange(top_k)
    return Records(
        start=start,
        log_normaliser=seeds / 3,
        top_ids=(seeds[:, None] + k).astype(np.int32),
        top_logits=(seeds[:, None] - k).astype(np.float32),
        own_logit=(seeds / 7).astype(np.float32),
        own_rank=(seeds % 50).astype(np.int32),
    )


@dataclass(eq=False)
class Running:
    """A sequence at work: `computed` of its tokens stand in the pages of `table`, in the second layer group those that
    it still looks at; the first `locked` are in the tree, under lock by `node`."""

    profile: int
    ids: Prefix
    computed: int
    table: list[Page]
    node: Node
    locked: int


@dataclass
class Known:
    """What is recorded of a cached prefix: how many top entries (None: no distribution), and its token's standing."""

    width: int | None = None
    own: bool = False


@dataclass
class World:
    frames: int = 6
    running: list[Running] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.arena = Arena(self.frames * 320 + 7, 320)
        self.full = self.arena.pool("full", PAGE * POSITION_BYTES)
        self.windowed = self.arena.pool("window", LAYERS * PAGE * POSITION_BYTES)
        self.other_pool = self.arena.pool("others", 96)
        self.pools = PagePools((self.full, self.windowed), (0, WINDOW), PAGE)
        self.cells = RecordCells(self.arena, TOP_K, page=PAGE)
        first = RadixTree(self.pools, self.cells)
        self.trees = (first, RadixTree(self.pools, self.cells, beside=first))
        self.cached: tuple[dict[Prefix, Known], ...] = ({(): Known()}, {(): Known()})

    # What a scheduler does

    def start(self, profile: int, ids: Prefix) -> None:
        """A sequence begins with the longest known prefix; the page in whose middle it goes on becomes its own."""
        known = max(n for n in range(len(ids) + 1) if ids[:n] in self.cached[profile])
        longest = max(n for n in range(known + 1) if self._window_stands(profile, ids[:n]))
        match = self.trees[profile].match(ids)
        assert match.length == longest
        assert len(match.pages) == -(-longest // PAGE)
        self.events["hit cut by the window"] += longest < known
        sequence = Running(profile, ids, match.length, match.pages, match.node, match.length)
        self.running.append(sequence)
        self.events["hit"] += match.length > 0
        if match.length % PAGE:
            self.events["hit in a page"] += 1
            own: list[Page] = []
            if not self._allocate(own, 1):
                self.abort(sequence)
                return
            self.pools.copy(sequence.table[-1], own[0])
            self.pools.release(sequence.table[-1])
            sequence.table[-1] = own[0]

    def compute(self, sequence: Running, count: int) -> None:
        end = min(sequence.computed + count, len(sequence.ids))
        if not self._allocate(sequence.table, -(-end // PAGE) - len(sequence.table)):
            self.abort(sequence)
            return
        computed = np.frombuffer(content(sequence.profile, sequence.ids), np.uint8).reshape(-1, POSITION_BYTES)
        for at in range(sequence.computed, end):
            whole, window = sequence.table[at // PAGE]
            for page in (whole, *(window + layer * PAGE * POSITION_BYTES for layer in range(LAYERS))):
                place = page + at % PAGE * POSITION_BYTES
                self.arena.buffer[place : place + POSITION_BYTES] = computed[at]
        sequence.computed = end

    def give_up_passed(self, sequence: Running) -> None:
        """What no token to come looks at."""
        for number, (whole, window) in enumerate(sequence.table):
            if window != NO_CELL and (number + 1) * PAGE <= sequence.computed - WINDOW + 1:
                self.windowed.release(window)
                sequence.table[number] = (whole, NO_CELL)
                self.events["given up"] += 1

    def publish(self, sequence: Running) -> None:
        """What is computed so far is there for others; the sequence goes on."""
        tree = self.trees[sequence.profile]
        node = self._insert(sequence)
        tree.lock(node)
        tree.unlock(sequence.node)
        sequence.node, sequence.locked = node, sequence.computed

    def finish(self, sequence: Running) -> None:
        self._insert(sequence)
        self.abort(sequence)

    def abort(self, sequence: Running) -> None:
        self.trees[sequence.profile].unlock(sequence.node)
        for page in sequence.table:
            self.pools.release(page)
        self.running.remove(sequence)

    def store(self, profile: int, ids: Prefix, start: int, end: int, top_k: int) -> None:
        new = records_of(profile, ids, start, end, top_k)
        new.own_rank[:1], new.own_logit[:1] = -1, np.nan
        stored = self.trees[profile].store_records(ids, new)
        self._forget_dropped()
        self.events["records stored" if stored else "records refused"] += 1
        for at in range(start, end if stored else start):
            known = self.cached[profile].get(ids[: at + 1])
            if known is not None:
                known.width = max(known.width or 0, min(top_k, TOP_K))
                known.own |= at > start

    def look_up(self, profile: int, ids: Prefix, start: int, end: int, top_k: int) -> None:
        found = self.trees[profile].records(ids, start, end, top_k)
        run = start
        while run < end and self._is_known(profile, ids[: run + 1], top_k, own=run > start):
            run += 1
        assert (found.start, found.end) == (start, run)
        self.events["records served"] += run > start
        true = records_of(profile, ids, start, run, top_k)
        np.testing.assert_array_equal(found.log_normaliser, true.log_normaliser)
        np.testing.assert_array_equal(found.top_ids, true.top_ids)
        np.testing.assert_array_equal(found.top_logits, true.top_logits)
        known_own = found.own_rank >= 0
        assert known_own[1:].all()
        np.testing.assert_array_equal(found.own_rank[known_own], true.own_rank[known_own])
        np.testing.assert_array_equal(found.own_logit[known_own], true.own_logit[known_own])

    def evict(self, pool: SubPool, cells: int) -> None:
        before = pool.available()
        assert self.trees[0].evict(pool, cells) == (pool.available() >= cells)
        self.events["evicted"] += pool.available() > before
        self._forget_dropped()

    def take_others(self, count: int) -> None:
        self.others += self.other_pool.allocate(count) or []

    def give_other(self, index: int) -> None:
        self.other_pool.release(self.others.pop(index))

    def clear(self, profile: int) -> None:
        self.trees[profile].clear()
        self._forget_dropped()

    def drain(self) -> None:
        while self.running:
            self.abort(self.running[0])
        while self.others:
            self.give_other(0)
        for profile in PROFILES:
            self.clear(profile)
        assert self.arena.free_frames == self.arena.frames
        assert not any(pool.used for pool in (self.full, self.windowed, self.other_pool, self.cells.pool))

    # What must hold

    def check(self) -> None:
        self.arena.check()
        for profile, tree in enumerate(self.trees):
            tree.check()
            assert self._in_tree(profile) == self.cached[profile].keys()
        for sequence in self.running:
            assert self._stands(sequence.profile, sequence.ids[: sequence.computed], sequence.table, first=0)
            seen = range(max(sequence.computed - WINDOW + 1, 0) // PAGE, len(sequence.table))
            assert all(sequence.table[number][1] != NO_CELL for number in seen)
        self._check_references()

    def _check_references(self) -> None:
        nodes = [node for tree in self.trees for node in tree.nodes()]
        pages = [
            page
            for holder in (*(node.pages for node in nodes), *(each.table for each in self.running))
            for page in holder
        ]
        for group, pool in enumerate(self.pools.pools):
            cells = Counter(page[group] for page in pages if page[group] != NO_CELL)
            assert all(pool.references(cell) == holders for cell, holders in cells.items())
            assert pool.used == len(cells)
        assert self.cells.pool.used == len({cell for node in nodes for cell in node.cells} - {-1})

    def _in_tree(self, profile: int) -> set[Prefix]:
        """Every prefix that the tree has, after a look at the bytes of each position."""
        ends: dict[Node, Prefix] = {}
        prefixes: set[Prefix] = {()}
        for node in self.trees[profile].nodes():
            above = ends.get(node.above, ())
            ends[node] = path = above + tuple(node.tokens.tolist())
            assert self._stands(profile, path, node.pages, first=node.first_page(PAGE))
            prefixes.update(path[: length + 1] for length in range(node.start, node.end))
        return prefixes

    def _stands(self, profile: int, ids: Prefix, pages: list[Page], *, first: int) -> bool:
        """Do the pages, of which the first has number `first`, hold what belongs to these tokens?"""
        size = PAGE * POSITION_BYTES
        due = content(profile, ids)[first * size :]
        for number, (whole, window) in enumerate(pages):
            part = due[number * size : (number + 1) * size]
            layers = [] if window == NO_CELL else [window + layer * size for layer in range(LAYERS)]
            if any(self.arena.buffer[cell : cell + len(part)].tobytes() != part for cell in (whole, *layers)):
                return False
        return len(pages) == -(-len(due) // size)

    def _window_stands(self, profile: int, ids: Prefix) -> bool:
        """Whether the tree has, in the layers with a window, what the token after these looks at. What a page has is
        said by the lowest node on the way that touches it."""
        has: dict[int, bool] = {}
        path: dict[Node, Prefix] = {}
        for node in self.trees[profile].nodes():
            above = path.get(node.above, ())
            path[node] = above + tuple(node.tokens.tolist())
            if above == ids[: node.start] and node.start < len(ids) and ids[node.start] == path[node][node.start]:
                has |= {number: page[1] != NO_CELL for number, page in enumerate(node.pages, node.start // PAGE)}
        return all(has[at // PAGE] for at in range(max(len(ids) - WINDOW + 1, 0), len(ids)))

    def _is_known(self, profile: int, prefix: Prefix, top_k: int, *, own: bool) -> bool:
        known = self.cached[profile].get(prefix)
        return known is not None and known.width is not None and known.width >= top_k and (known.own or not own)

    def _insert(self, sequence: Running) -> Node:
        ids = sequence.ids[: sequence.computed]
        for length in range(len(ids) + 1):
            self.cached[sequence.profile].setdefault(ids[:length], Known())
        node = self.trees[sequence.profile].insert(ids, sequence.table)
        assert node.end > len(ids) or self._window_stands(sequence.profile, ids)
        return node

    def _allocate(self, table: list[Page], count: int) -> bool:
        room = self.trees[0].make_room([count, count])
        self._forget_dropped()
        assert room or all(node.locks for tree in self.trees for node in tree.nodes())
        assert self.pools.extend(table, count) == room
        self.events["out of memory"] += not room
        return room

    def _forget_dropped(self) -> None:
        """What was dropped must have been there, must not be in use, and leaves nothing that went on from it."""
        for profile, cached in enumerate(self.cached):
            kept = self._in_tree(profile)
            assert kept <= cached.keys()
            assert all(prefix[:-1] in kept for prefix in kept)
            for prefix in cached.keys() - kept:
                del cached[prefix]
        for sequence in self.running:
            assert sequence.ids[: sequence.locked] in self.cached[sequence.profile]
