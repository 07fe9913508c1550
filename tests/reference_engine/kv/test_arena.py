"""The arena: frames change hands between sub-pools, and none is ever lost."""

from __future__ import annotations

import pytest

from reference_engine.errors import EngineRequestError
from reference_engine.kv.arena import Arena


def test_cells_are_handed_out_from_the_lowest_on() -> None:
    pool = Arena(300, 100).pool("full", 40)

    assert pool.allocate(5) == [0, 40, 100, 140, 200]
    pool.release(140)
    pool.release(40)
    assert pool.allocate(2) == [40, 140]


def test_an_allocation_is_given_in_full_or_not_at_all() -> None:
    arena = Arena(200, 100)
    pool = arena.pool("full", 50)
    pool.allocate(3)

    assert pool.allocate(2) is None
    assert pool.available() == 1
    arena.check()


def test_a_frame_goes_to_whoever_needs_it_once_all_its_cells_are_free() -> None:
    arena = Arena(200, 100)
    full, records = arena.pool("full", 100), arena.pool("logprobs", 30)
    small = records.allocate(4)
    assert small is not None
    assert (full.available(), records.available()) == (0, 2)

    for cell in small[:3]:
        records.release(cell)

    assert (full.available(), records.available()) == (1, 5)
    assert full.allocate(1) == [0]
    assert (full.available(), records.available()) == (0, 2)
    arena.check()


def test_a_cell_is_free_when_the_last_of_its_holders_lets_go() -> None:
    pool = Arena(100, 100).pool("full", 100)
    pool.allocate(1)
    pool.share(0)

    pool.release(0)
    assert (pool.references(0), pool.available()) == (1, 0)
    pool.release(0)
    assert (pool.references(0), pool.available()) == (0, 1)


def test_a_free_cell_can_be_neither_released_nor_shared_nor_copied() -> None:
    pool = Arena(200, 100).pool("full", 100)
    pool.allocate(1)

    for misuse in (pool.release, pool.share, lambda cell: pool.copy(0, cell), lambda cell: pool.copy(cell, 0)):
        with pytest.raises(AssertionError, match="full: cell 100 is free"):
            misuse(100)


def test_a_copy_takes_the_bytes_of_one_cell() -> None:
    arena = Arena(100, 100)
    pool = arena.pool("full", 30)
    pool.allocate(3)
    arena.buffer[30:60] = 7

    pool.copy(30, 0)

    assert arena.buffer[:30].tolist() == [7] * 30
    assert not arena.buffer[60:].any()


def test_a_sub_pool_never_finds_what_another_one_wrote() -> None:
    arena = Arena(100, 100)
    full, records = arena.pool("full", 100), arena.pool("logprobs", 20)
    records.allocate(5)
    arena.buffer[:] = 255
    for cell in range(0, 100, 20):
        records.release(cell)

    full.allocate(1)

    assert not arena.buffer.any()


@pytest.mark.parametrize(("nbytes", "frame_bytes"), [(0, 1), (4095, 4096), (-1, 1)])
def test_an_arena_smaller_than_one_frame_is_refused(nbytes: int, frame_bytes: int) -> None:
    with pytest.raises(EngineRequestError, match=rf"smaller than one frame of {frame_bytes:,}\. Give .* or more"):
        Arena(nbytes, frame_bytes)


def test_an_arena_that_the_machine_cannot_give_is_refused() -> None:
    with pytest.raises(EngineRequestError, match="does not give"):
        Arena(2**62, 4096)


@pytest.mark.parametrize("cell_bytes", [0, 101])
def test_cells_that_no_frame_can_hold_are_refused(cell_bytes: int) -> None:
    with pytest.raises(EngineRequestError, match="do not fit into frames of 100"):
        Arena(1000, 100).pool("full", cell_bytes)


def test_the_check_sees_a_lost_frame() -> None:
    arena = Arena(300, 100)
    arena.take_frame(arena.pool("full", 100))

    with pytest.raises(AssertionError, match="a frame is lost"):
        arena.check()
