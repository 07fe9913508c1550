"""The engine's arena and prefix tree as the scheduler's memory."""

from __future__ import annotations

from reference_engine.forward.batch import PAGE, Page
from tests.reference_engine.sched.readable_memory import ArenaMemory

IDS = list(range(40))


def allocated(memory: ArenaMemory, pages: int) -> list[Page]:
    table: list[Page] = []
    assert memory.cover(table, pages * PAGE, range(pages * PAGE))
    return table


def kept() -> ArenaMemory:
    memory = ArenaMemory(4)
    pages = allocated(memory, 3)
    memory.keep(IDS, pages)
    memory.release(pages)
    return memory


def test_what_was_kept_is_found_for_any_number_of_tokens() -> None:
    memory = kept()

    hit = memory.match([*IDS[:21], 99])

    assert (hit.length, len(hit.pages)) == (21, 2)
    memory.check(hit.pages)


def test_what_nobody_uses_gives_way() -> None:
    memory = kept()
    hit = memory.match(IDS[:PAGE])

    fresh = allocated(memory, 3)

    assert not set(fresh) & set(hit.pages)
    memory.check([*hit.pages, *fresh])


def test_nothing_gives_way_for_more_than_there_can_be() -> None:
    memory = kept()
    hit = memory.match(IDS[:PAGE])

    assert not memory.cover([], 4 * PAGE, range(4 * PAGE))

    memory.release(hit.pages)
    assert memory.match(IDS).length == 40
