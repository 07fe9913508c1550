"""Sequences that share an arena and two prefix trees, beside a dictionary that says what must be there.

What stands at a position is a function of the profile and the tokens up to it, so that every byte and every record can
be told from every other and checked wherever it turns up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from reference_engine.kv.arena import Arena
from reference_engine.kv.node import Node
from reference_engine.kv.radix import RadixTree
from reference_engine.kv.records import RecordCells, Records

PAGE = 4
TOP_K = 2
POSITION_BYTES = 8
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
    """A sequence at work: `computed` of its tokens stand in the pages of `table`; the first
    `locked` are in the tree, under lock by `node`."""

    profile: int
    ids: Prefix
    computed: int
    table: list[int]
    node: Node
    locked: int


@dataclass
class Known:
    """What is recorded of a cached prefix: how many top entries (None: no distribution), and its token's standing."""

    width: int | None = None
    own: bool = False


@dataclass
class World:
    frames: int = 3
    running: list[Running] = field(default_factory=list)
    window: list[int] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.arena = Arena(self.frames * 320 + 7, 320)
        self.full = self.arena.pool("full", PAGE * POSITION_BYTES)
        self.window_pool = self.arena.pool("window", 96)
        self.cells = RecordCells(self.arena, TOP_K, page=PAGE)
        first = RadixTree(self.full, self.cells, page=PAGE)
        self.trees = (first, RadixTree(self.full, self.cells, page=PAGE, beside=first))
        self.cached: tuple[dict[Prefix, Known], ...] = ({(): Known()}, {(): Known()})

    # What a scheduler does

    def start(self, profile: int, ids: Prefix) -> None:
        """A sequence begins with the longest known prefix; the page in whose middle it goes on becomes its own."""
        match = self.trees[profile].match(ids)
        longest = max(n for n in range(len(ids) + 1) if ids[:n] in self.cached[profile])
        assert match.length == longest
        assert len(match.pages) == -(-longest // PAGE)
        sequence = Running(profile, ids, match.length, match.pages, match.node, match.length)
        self.running.append(sequence)
        self.events["hit"] += match.length > 0
        if match.length % PAGE:
            self.events["hit in a page"] += 1
            own = self._allocate(1)
            if own is None:
                self.abort(sequence)
                return
            self.full.copy(sequence.table[-1], own[0])
            self.full.release(sequence.table[-1])
            sequence.table[-1] = own[0]

    def compute(self, sequence: Running, count: int) -> None:
        end = min(sequence.computed + count, len(sequence.ids))
        new = self._allocate(-(-end // PAGE) - len(sequence.table))
        if new is None:
            self.abort(sequence)
            return
        sequence.table += new
        computed = np.frombuffer(content(sequence.profile, sequence.ids), np.uint8).reshape(-1, POSITION_BYTES)
        for at in range(sequence.computed, end):
            place = sequence.table[at // PAGE] + at % PAGE * POSITION_BYTES
            self.arena.buffer[place : place + POSITION_BYTES] = computed[at]
        sequence.computed = end

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
            self.full.release(page)
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

    def evict(self, pages: int) -> None:
        before = self.full.available()
        assert self.trees[0].evict(self.full, pages) == (self.full.available() >= pages)
        self.events["evicted"] += self.full.available() > before
        self._forget_dropped()

    def take_window(self, count: int) -> None:
        self.window += self.window_pool.allocate(count) or []

    def give_window(self, index: int) -> None:
        self.window_pool.release(self.window.pop(index))

    def clear(self, profile: int) -> None:
        self.trees[profile].clear()
        self._forget_dropped()

    def drain(self) -> None:
        while self.running:
            self.abort(self.running[0])
        while self.window:
            self.give_window(0)
        for profile in PROFILES:
            self.clear(profile)
        assert self.arena.free_frames == self.arena.frames
        assert not any(pool.used for pool in (self.full, self.window_pool, self.cells.pool))

    # What must hold

    def check(self) -> None:
        self.arena.check()
        for profile, tree in enumerate(self.trees):
            tree.check()
            assert self._in_tree(profile) == self.cached[profile].keys()
        for sequence in self.running:
            assert self._stands(sequence.profile, sequence.ids[: sequence.computed], sequence.table, first=0)
        self._check_references()

    def _check_references(self) -> None:
        nodes = [node for tree in self.trees for node in tree.nodes()]
        pages = Counter(page for node in nodes for page in node.pages)
        pages.update(page for sequence in self.running for page in sequence.table)
        assert all(self.full.references(page) == holders for page, holders in pages.items())
        assert self.full.used == len(pages)
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

    def _stands(self, profile: int, ids: Prefix, pages: list[int], *, first: int) -> bool:
        """Do the pages, of which the first has number `first`, hold what belongs to these tokens?"""
        size = PAGE * POSITION_BYTES
        held = b"".join([self.arena.buffer[page : page + size].data for page in pages])
        due = content(profile, ids)[first * size :]
        return held[: len(due)] == due and len(held) - len(due) < size

    def _is_known(self, profile: int, prefix: Prefix, top_k: int, *, own: bool) -> bool:
        known = self.cached[profile].get(prefix)
        return known is not None and known.width is not None and known.width >= top_k and (known.own or not own)

    def _insert(self, sequence: Running) -> Node:
        ids = sequence.ids[: sequence.computed]
        for length in range(len(ids) + 1):
            self.cached[sequence.profile].setdefault(ids[:length], Known())
        return self.trees[sequence.profile].insert(ids, sequence.table)

    def _allocate(self, count: int) -> list[int] | None:
        self.evict(count)
        pages = self.full.allocate(count)
        self.events["out of memory"] += pages is None
        return pages

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
