"""What a sequence has passed in the layers with a window is memory for all others, while it runs."""

from __future__ import annotations

import random

import pytest

from reference_engine.errors import EngineRequestError
from reference_engine.forward.batch import PAGE, Page
from reference_engine.sched.limits import Limits
from reference_engine.sched.request import Request
from tests.reference_engine.sched.readable_memory import ArenaMemory
from tests.reference_engine.sched.toy_engine import ToyEngine
from tests.reference_engine.sched.toy_model import VOCABULARY

FRAMES = 12
"""Each holds one page of one group."""
IDS = random.Random(3).choices(range(VOCABULARY), k=9 * PAGE)


@pytest.mark.parametrize("kept", [False, True], ids=["alone", "remembered by the tree"])
def test_full_attention_grows_into_what_the_window_frees(kept: bool) -> None:
    memory, table = ArenaMemory(FRAMES, window=2 * PAGE), list[Page]()
    assert memory.cover(table, 6 * PAGE, range(6 * PAGE))
    assert (memory.pool.frames, memory.window_pool.frames) == (6, 6)
    assert not memory.cover(table, 7 * PAGE, range(6 * PAGE, 7 * PAGE))

    for pages in (6, 7, 8):
        row = pages * PAGE
        if kept:
            memory.keep(IDS[:row], table)
        memory.give_up_passed(table, row)
        assert memory.cover(table, row + PAGE, range(row, row + PAGE))
        memory.check(table)

    assert (memory.pool.frames, memory.window_pool.frames) == (9, 3)
    if kept:
        assert memory.match(IDS).length == 8 * PAGE


def test_a_prompt_takes_as_much_of_the_window_as_a_pass_and_the_window_need() -> None:
    """Nine pages of full attention, and of the window no more than a pass of 16 rows and 16 tokens before it touch."""
    engine = ToyEngine(ArenaMemory(FRAMES, window=PAGE), Limits(token_budget=PAGE, max_running=2))
    engine.add(Request("fits", IDS))

    with pytest.raises(EngineRequestError, match="--kv-bytes"):
        engine.add(Request("does not", [*IDS, 1]))
    engine.drain(20)
    engine.check_answers()


def test_a_conversation_goes_on_from_the_end_of_a_long_prompt() -> None:
    engine = ToyEngine(ArenaMemory(FRAMES + 3, window=PAGE), Limits(token_budget=PAGE, max_running=2))
    engine.add(Request("first", IDS[:120]))
    engine.drain(20)

    engine.add(Request("second", IDS[:130]))
    engine.drain(20)

    assert engine.scheduler.counts.cached_tokens == 120
    engine.check_answers()
