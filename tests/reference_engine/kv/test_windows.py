"""The prefix tree with layers that have a sliding window: how far a hit reaches, and what gives way first."""

from __future__ import annotations

import pytest

from reference_engine.forward.batch import NO_CELL, Page
from reference_engine.kv.arena import Arena
from reference_engine.kv.page_pools import PagePools
from reference_engine.kv.radix import RadixTree

PAGE = 16
WINDOW = 24
"""The row after 100 tokens looks at positions 77 and on: pages 4, 5 and 6."""
FRAMES = 40
A, B = 1, 2


@pytest.fixture
def tree() -> RadixTree:
    arena = Arena(FRAMES, 1)
    return RadixTree(PagePools((arena.pool("full", 1), arena.pool("window", 1)), (0, WINDOW)))


def insert(tree: RadixTree, ids: list[int], *, given_up: range = range(0)) -> list[Page]:
    """As a sequence does that computes all of it; of the pages `given_up` it has no cell in the window any more."""
    pages: list[Page] = []
    assert tree.pools.extend(pages, -(-len(ids) // PAGE))
    for number in given_up:
        tree.pools.release((NO_CELL, pages[number][1]))
        pages[number] = (pages[number][0], NO_CELL)
    tree.insert(ids, pages)
    for page in pages:
        tree.pools.release(page)
    return pages


def hit(tree: RadixTree, ids: list[int]) -> tuple[int, list[Page]]:
    match = tree.match(ids)
    tree.unlock(match.node)
    for page in match.pages:
        tree.pools.release(page)
    tree.check()
    return match.length, match.pages


def test_a_hit_brings_what_the_next_row_looks_at(tree: RadixTree) -> None:
    pages = insert(tree, [A] * 100)

    assert hit(tree, [A] * 100) == (100, [(full, NO_CELL) for full, _ in pages[:4]] + pages[4:])


@pytest.mark.parametrize(
    ("asked", "given_up", "found"),
    [
        (100, range(4), 100),
        (100, range(5), 0),
        (100, range(6, 7), 96),
        (100, range(5, 6), 80),
        (70, range(3), 0),
        (72, range(3), 72),
        (48, range(1), 48),
        (30, range(1), 0),
    ],
)
def test_a_hit_ends_where_the_window_before_it_is_whole(
    tree: RadixTree, asked: int, given_up: range, found: int
) -> None:
    insert(tree, [A] * 100, given_up=given_up)

    assert hit(tree, [A] * asked + [B])[0] == found


def test_what_the_tree_lacks_is_taken_from_who_computes_it_again(tree: RadixTree) -> None:
    first = insert(tree, [A] * 100, given_up=range(5))
    again = insert(tree, [A] * 70 + [B] * 30)

    joined = [(old, new) for (old, _), (_, new) in zip(first, again, strict=True)]
    assert hit(tree, [A] * 50) == (50, [(first[0][0], NO_CELL), *joined[1:4]])
    assert hit(tree, [A] * 100)[0] == 70  # positions 70 to 79 of its own page are still missing


def test_what_lies_before_the_window_gives_way_first_and_costs_no_hit_at_the_end(tree: RadixTree) -> None:
    full, window = tree.pools.pools
    insert(tree, [A] * 100)

    assert tree.evict(full, FRAMES - 7 - 3)

    assert (full.used, window.used) == (7, 3)
    assert hit(tree, [A] * 100)[0] == 100
    assert hit(tree, [A] * 60)[0] == 0
    tree.evict(full, FRAMES)
    assert (full.used, window.used) == (0, 0)


def test_what_a_running_sequence_has_goes_last(tree: RadixTree) -> None:
    full = tree.pools.pools[0]
    insert(tree, [A] * 100)
    running = tree.match([A] * 100)
    tree.unlock(running.node)
    insert(tree, [B] * 48)

    tree.evict(full, FRAMES - 7 - 3)

    assert hit(tree, [B] * 48)[0] == 0
    assert hit(tree, [A] * 100)[0] == 100
