"""Cached log-probabilities come back as they were stored, as far as they are known, and never for other tokens."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from reference_engine.errors import EngineRequestError
from reference_engine.forward.batch import Page, ReadOut
from reference_engine.kv.arena import Arena
from reference_engine.kv.page_pools import PagePools
from reference_engine.kv.radix import RadixTree
from reference_engine.kv.records import RecordCells, Records, records_of_rows

PAGE = 16
TOP_K = 5
A, B, C = 1, 2, 3


@pytest.fixture
def tree() -> RadixTree:
    arena = Arena(10 * 4096, 4096)
    return RadixTree(PagePools((arena.pool("full", 1024),)), RecordCells(arena, TOP_K))


def insert(tree: RadixTree, ids: list[int]) -> None:
    pages: list[Page] = []
    assert tree.pools.extend(pages, -(-len(ids) // PAGE))
    tree.insert(ids, pages)
    for page in pages:
        tree.pools.release(page)


def made_up(start: int, end: int, *, top_k: int = TOP_K, seed: int = 0) -> Records:
    rng = np.random.default_rng([start, seed])
    n = end - start
    return Records(
        start=start,
        log_normaliser=rng.normal(size=n),
        top_ids=rng.integers(0, 50_000, (n, top_k), dtype=np.int32),
        top_logits=rng.normal(size=(n, top_k)).astype(np.float32),
        own_logit=rng.normal(size=n).astype(np.float32),
        own_rank=rng.integers(0, 50_000, n, dtype=np.int32),
    )


def assert_same(one: Records, other: Records) -> None:
    for field in dataclasses.fields(Records):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def part(records: Records, start: int, end: int, top_k: int) -> Records:
    span = slice(start - records.start, end - records.start)
    return Records(
        start,
        records.log_normaliser[span],
        records.top_ids[span, :top_k],
        records.top_logits[span, :top_k],
        records.own_logit[span],
        records.own_rank[span],
    )


@pytest.mark.parametrize(("start", "end"), [(0, 60), (0, 16), (16, 32), (5, 7), (37, 60), (59, 60)])
@pytest.mark.parametrize("top_k", [0, 3, TOP_K])
def test_any_stretch_comes_back_as_it_was_stored(tree: RadixTree, start: int, end: int, top_k: int) -> None:
    insert(tree, [A] * 60)
    stored = made_up(0, 60)

    assert tree.store_records([A] * 60, stored)

    assert_same(tree.records([A] * 60, start, end, top_k), part(stored, start, end, top_k))
    tree.check()


def test_a_stretch_ends_where_something_is_unknown(tree: RadixTree) -> None:
    ids = [A] * 60
    insert(tree, ids)
    stored = made_up(10, 50)
    stored.log_normaliser[20] = np.nan
    stored.own_rank[30] = -1
    tree.store_records(ids, stored)

    assert tree.records(ids, 0, 60, 0).end == 0
    assert tree.records(ids, 10, 60, 0).end == 30
    assert tree.records(ids, 31, 60, 0).end == 40
    assert tree.records(ids, 40, 60, 0).end == 50
    assert tree.records(ids, 10, 60, TOP_K + 1).end == 10


def test_the_first_of_a_stretch_need_not_know_how_its_own_token_stood(tree: RadixTree) -> None:
    ids = [A] * 20
    insert(tree, ids)
    stored = made_up(0, 20)
    stored.own_rank[0], stored.own_logit[0] = -1, np.nan
    tree.store_records(ids, stored)

    assert_same(tree.records(ids, 0, 20, TOP_K), stored)


def test_what_is_stored_later_is_added(tree: RadixTree) -> None:
    ids = [A] * 40
    insert(tree, ids)
    true = made_up(0, 40)
    tree.store_records(ids, part(true, 0, 25, 2))
    tree.store_records(ids, part(true, 20, 40, TOP_K))
    tree.store_records(ids, part(true, 30, 40, 1))

    assert_same(tree.records(ids, 0, 40, 2), part(true, 0, 40, 2))
    assert tree.records(ids, 0, 40, 3).end == 0
    assert_same(tree.records(ids, 20, 40, TOP_K), part(true, 20, 40, TOP_K))


def test_more_top_entries_than_a_cell_holds_are_cut_off(tree: RadixTree) -> None:
    insert(tree, [A] * 20)
    stored = made_up(0, 20, top_k=TOP_K + 3)

    tree.store_records([A] * 20, stored)

    assert_same(tree.records([A] * 20, 0, 20, TOP_K), part(stored, 0, 20, TOP_K))
    assert tree.records([A] * 20, 0, 20, TOP_K + 1).end == 0


def test_positions_that_are_not_in_the_tree_are_passed_over(tree: RadixTree) -> None:
    insert(tree, [A] * 20)
    stored = made_up(0, 40)

    assert tree.store_records([A] * 40, stored)
    assert tree.store_records([B] * 40, made_up(0, 40))

    assert_same(tree.records([A] * 40, 0, 40, TOP_K), part(stored, 0, 20, TOP_K))
    assert tree.records([B] * 40, 0, 40, 0).end == 0


def test_both_halves_of_a_cut_node_keep_theirs_and_the_new_branch_has_its_own(tree: RadixTree) -> None:
    old, new = [A] * 60, [A] * 37 + [B] * 11
    insert(tree, old)
    stored, others = made_up(0, 60), made_up(37, 48, seed=1)
    tree.store_records(old, stored)
    insert(tree, new)

    assert tree.records(new, 0, 48, TOP_K).end == 37
    tree.store_records(new, others)

    assert_same(tree.records(old, 0, 60, TOP_K), stored)
    assert_same(tree.records(new, 0, 37, TOP_K), part(stored, 0, 37, TOP_K))
    assert_same(tree.records(new, 37, 48, TOP_K), others)
    tree.check()


def test_a_leaf_that_grows_where_another_branch_was_dropped_knows_nothing_of_that_branch(tree: RadixTree) -> None:
    old, new = [A] * 45, [A] * 37 + [B] * 8
    insert(tree, old)
    tree.store_records(old, made_up(0, 45))
    insert(tree, [*old[:37], C])
    match = tree.match(old[:37])
    tree.clear()
    tree.unlock(match.node)
    assert [(node.start, node.end) for node in tree.nodes()] == [(0, 37)]

    insert(tree, new)

    assert [(node.start, node.end) for node in tree.nodes()] == [(0, 45)]
    assert tree.records(new, 0, 45, 0).end == 37


def test_records_go_with_their_pages(tree: RadixTree) -> None:
    insert(tree, [A] * 60)
    tree.store_records([A] * 60, made_up(0, 60))

    tree.clear()
    insert(tree, [A] * 60)

    assert tree.records([A] * 60, 0, 60, 0).end == 0


def test_what_is_looked_up_counts_as_used(tree: RadixTree) -> None:
    for token in (A, B):
        insert(tree, [token] * PAGE)

    tree.records([A] * PAGE, 0, PAGE, 0)
    tree.evict(tree.pools.pools[0], 39)

    assert [int(node.tokens[0]) for node in tree.nodes()] == [A]


def test_storing_makes_room_but_not_at_the_cost_of_what_it_stores(tree: RadixTree) -> None:
    insert(tree, [B] * 32 * PAGE)
    insert(tree, [A] * 8 * PAGE)
    stored = made_up(0, 8 * PAGE)
    assert tree.pools.pools[0].available() == 0

    assert tree.store_records([A] * 8 * PAGE, stored)

    assert_same(tree.records([A] * 8 * PAGE, 0, 8 * PAGE, TOP_K), stored)
    tree.pools.pools[0].arena.check()


def test_without_room_nothing_is_stored(tree: RadixTree) -> None:
    insert(tree, [A] * 40 * PAGE)
    match = tree.match([A] * 40 * PAGE)

    assert not tree.store_records([A] * 40 * PAGE, made_up(0, 40 * PAGE))

    assert tree.records([A] * 40 * PAGE, 0, 1, 0).end == 0
    assert match.length == 40 * PAGE


def test_rows_tell_of_their_own_position_and_of_the_next_token() -> None:
    true = made_up(4, 7)
    rows = ReadOut(
        log_normaliser=true.log_normaliser,
        top_ids=true.top_ids,
        top_logits=true.top_logits,
        own_logit=true.own_logit,
        own_rank=true.own_rank,
        chosen_logits=np.empty((3, 0), np.float32),
    )

    records = records_of_rows(4, rows)

    assert (records.start, records.end, records.top_k) == (4, 8, TOP_K)
    np.testing.assert_array_equal(records.log_normaliser, [*true.log_normaliser, np.nan])
    np.testing.assert_array_equal(records.top_ids[:3], true.top_ids)
    np.testing.assert_array_equal(records.top_logits[:3], true.top_logits)
    np.testing.assert_array_equal(records.own_logit, np.array([np.nan, *true.own_logit], np.float32))
    np.testing.assert_array_equal(records.own_rank, [-1, *true.own_rank])


def test_a_tree_without_records_says_so() -> None:
    tree = RadixTree(PagePools((Arena(100, 100).pool("full", 100),)))

    with pytest.raises(AssertionError, match="keeps no records"):
        tree.records([A], 0, 1, 0)


def test_cells_of_records_larger_than_a_frame_are_refused() -> None:
    with pytest.raises(EngineRequestError, match=r"2,944 bytes \(logprobs\) do not fit"):
        RecordCells(Arena(2048, 2048), 20)
