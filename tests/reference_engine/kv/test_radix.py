"""The prefix tree: which pages a prefix leads to, who keeps them, and what goes first."""

from __future__ import annotations

import numpy as np
import pytest

from reference_engine.forward.batch import Page
from reference_engine.kv.arena import Arena
from reference_engine.kv.node import Node
from reference_engine.kv.page_pools import PagePools
from reference_engine.kv.radix import RadixTree
from reference_engine.kv.subpool import SubPool

PAGE = 16
FRAMES = 32
A, B, C = 1, 2, 3


@pytest.fixture
def pool() -> SubPool:
    return Arena(FRAMES, 1).pool("full", 1)


@pytest.fixture
def tree(pool: SubPool) -> RadixTree:
    return RadixTree(PagePools((pool,)))


def allocated(tree: RadixTree, count: int) -> list[Page]:
    pages: list[Page] = []
    assert tree.pools.extend(pages, count)
    return pages


def insert(tree: RadixTree, ids: list[int]) -> list[Page]:
    """As a sequence does that finds nothing, computes all and ends: the pages that it had."""
    pages = allocated(tree, -(-len(ids) // PAGE))
    tree.insert(ids, pages)
    for page in pages:
        tree.pools.release(page)
    return pages


def found(tree: RadixTree, ids: list[int]) -> tuple[int, list[Page]]:
    """Length and pages of a match, which is given back."""
    match = tree.match(ids)
    give_back(tree, match.pages, match.node)
    tree.check()
    return match.length, match.pages


def give_back(tree: RadixTree, pages: list[Page], node: Node) -> None:
    tree.unlock(node)
    for page in pages:
        tree.pools.release(page)


def spans(tree: RadixTree) -> list[tuple[int, int]]:
    return sorted((node.start, node.end) for node in tree.nodes())


def test_nothing_is_known_at_first(tree: RadixTree) -> None:
    assert found(tree, [A] * 40) == (0, [])
    assert found(tree, []) == (0, [])


@pytest.mark.parametrize("length", [1, 15, 16, 17, 37, 64, 100])
def test_a_prefix_of_any_length_is_found_with_the_pages_that_cover_it(tree: RadixTree, length: int) -> None:
    pages = insert(tree, [A] * 100)

    assert found(tree, [A] * length + [B] * 50) == (length, pages[: -(-length // PAGE)])
    assert spans(tree) == [(0, 100)]


def test_a_numpy_array_is_as_good_as_a_list_and_may_change_afterwards(tree: RadixTree, pool: SubPool) -> None:
    ids = np.full(40, A, np.int32)
    table = allocated(tree, 3)
    tree.insert(ids[:20], table[:2])
    tree.insert(ids, table)

    ids[:] = B

    assert found(tree, [A] * 40)[0] == 40


def test_what_branches_off_in_the_middle_of_a_page_has_that_page_for_itself(tree: RadixTree) -> None:
    first = insert(tree, [A] * 100)
    second = insert(tree, [A] * 37 + [B] * 30)

    assert spans(tree) == [(0, 37), (37, 67), (37, 100)]
    assert found(tree, [A] * 100) == (100, first)
    assert found(tree, [A] * 37 + [B] * 30) == (67, first[:2] + second[2:])
    assert found(tree, [A] * 37) == (37, first[:3])


def test_a_branch_that_goes_leaves_its_first_page_to_the_parent_who_needs_it(tree: RadixTree, pool: SubPool) -> None:
    first = insert(tree, [A] * 100)
    insert(tree, [A] * 37 + [B] * 30)

    assert tree.evict(pool, pool.available() + 4)  # pages 3 to 6 of the first branch
    assert spans(tree) == [(0, 37), (37, 48), (37, 67)]
    assert tree.evict(pool, pool.available() + 1)  # its page 2 is not freed by its end: the other branch pays

    assert found(tree, [A] * 37) == (37, first[:3])
    assert spans(tree) == [(0, 37), (37, 64)]


def test_equal_tokens_keep_the_pages_that_were_there_first(tree: RadixTree, pool: SubPool) -> None:
    first = insert(tree, [A] * 40)
    insert(tree, [A] * 40)

    assert found(tree, [A] * 40) == (40, first)
    assert pool.used == 3


def test_a_leaf_that_is_gone_on_from_grows_and_its_last_page_gives_way(tree: RadixTree, pool: SubPool) -> None:
    first = insert(tree, [A] * 37)
    second = insert(tree, [A] * 60)

    assert spans(tree) == [(0, 60)]
    assert found(tree, [A] * 60) == (60, first[:2] + second[2:])
    assert pool.used == 4


def test_a_running_sequence_may_insert_what_it_has_and_write_on(tree: RadixTree, pool: SubPool) -> None:
    table = allocated(tree, 4)

    tree.insert([A] * 20, table[:2])
    tree.insert([A] * 25, table[:2])
    tree.insert([A] * 60, table)

    assert found(tree, [A] * 60) == (60, table)
    assert [pool.references(cell) for (cell,) in table] == [2, 2, 2, 2]


def test_a_page_table_must_cover_the_tokens(tree: RadixTree, pool: SubPool) -> None:
    with pytest.raises(AssertionError, match="a page is missing"):
        tree.insert([A] * 17, allocated(tree, 1))


def test_what_was_unused_for_longest_goes_first(tree: RadixTree, pool: SubPool) -> None:
    for token in (A, B, C):
        insert(tree, [token] * 16)
    found(tree, [A] * 16)

    left = []
    while tree.evict(pool, pool.available() + 1):
        left.append({int(node.tokens[0]) for node in tree.nodes()})

    assert left == [{A, C}, {A}, set()]


def test_a_prefix_outlasts_all_that_goes_on_from_it(tree: RadixTree, pool: SubPool) -> None:
    insert(tree, [A] * 32 + [B] * 16)
    insert(tree, [A] * 32 + [C] * 16)
    found(tree, [A] * 32 + [B] * 16)

    left = []
    while tree.evict(pool, pool.available() + 1):
        left.append(spans(tree))

    assert left == [[(0, 32), (32, 48)], [(0, 32)], [(0, 16)], []]


def test_no_more_is_dropped_than_is_asked_for(tree: RadixTree, pool: SubPool) -> None:
    pages = insert(tree, [A] * 100)

    assert tree.evict(pool, pool.available())
    assert found(tree, [A] * 100) == (100, pages)
    assert tree.evict(pool, pool.available() + 2)
    assert found(tree, [A] * 100) == (80, pages[:5])


def test_what_is_locked_stays_and_is_first_in_use_again_when_it_is_unlocked(tree: RadixTree, pool: SubPool) -> None:
    insert(tree, [A] * 48)
    match = tree.match([A] * 20)
    insert(tree, [B] * 32)

    assert not tree.evict(pool, FRAMES)
    assert found(tree, [A] * 48)[0] == 48
    insert(tree, [B] * 32)
    give_back(tree, match.pages, match.node)
    tree.evict(pool, FRAMES - 3)

    assert found(tree, [A] * 48)[0] == 48
    assert found(tree, [B] * 32)[0] == 0


def test_a_lock_outlives_a_cut_through_what_it_holds(tree: RadixTree, pool: SubPool) -> None:
    pages = insert(tree, [A] * 48)
    match = tree.match([A] * 48)
    insert(tree, [A] * 20 + [B] * 12)

    assert not tree.evict(pool, FRAMES)
    assert found(tree, [A] * 48) == (48, pages)
    give_back(tree, match.pages, match.node)
    assert tree.evict(pool, FRAMES)
    assert pool.arena.free_frames == FRAMES


def test_a_node_cannot_be_unlocked_too_often(tree: RadixTree) -> None:
    insert(tree, [A] * 48)
    match = tree.match([A] * 48)
    tree.unlock(match.node)

    with pytest.raises(AssertionError, match="unlocked more often"):
        tree.unlock(match.node)


def test_a_sequence_keeps_its_pages_whatever_the_tree_drops(tree: RadixTree, pool: SubPool) -> None:
    insert(tree, [A] * 40)
    match = tree.match([A] * 40)
    tree.unlock(match.node)

    assert not tree.evict(pool, FRAMES)

    assert found(tree, [A] * 40) == (0, [])
    assert [pool.references(cell) for (cell,) in match.pages] == [1, 1, 1]


def test_trees_beside_each_other_make_room_for_each_other(pool: SubPool) -> None:
    one = RadixTree(PagePools((pool,)))
    other = RadixTree(PagePools((pool,)), beside=one)
    for tree, token in ((one, A), (other, B), (one, C)):
        insert(tree, [token] * 16)

    assert one.evict(pool, FRAMES - 1)
    assert found(other, [B] * 16)[0] == found(one, [A] * 16)[0] == 0
    insert(other, [B] * 16)
    one.clear()

    assert found(one, [C] * 16)[0] == 0
    assert found(other, [B] * 16)[0] == 16


def test_clearing_drops_all_that_is_not_locked(tree: RadixTree, pool: SubPool) -> None:
    insert(tree, [A] * 40)
    insert(tree, [A] * 20 + [B] * 30)
    match = tree.match([A] * 20)

    tree.clear()
    assert spans(tree) == [(0, 20)]
    give_back(tree, match.pages, match.node)
    tree.clear()

    assert pool.used == 0
    assert spans(tree) == []


def test_the_check_sees_a_page_that_was_taken_from_the_tree(tree: RadixTree, pool: SubPool) -> None:
    pages = insert(tree, [A] * 40)
    pool.release(*pages[1])

    with pytest.raises(AssertionError, match="refers to a page that is freed"):
        tree.check()
