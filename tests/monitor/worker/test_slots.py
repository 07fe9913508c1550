"""How many checks a worker makes at a time, whatever its pool is made of."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing.synchronize import Event
from threading import Barrier

import pytest

from monitor.store import RunStatus
from monitor.worker.names import EXECUTE, PROBE_QUEUE, QUEUES
from monitor.worker.slots import Slots, execute_in_slot
from tests.reliability.service import Service, wait_until


def free(slots: Slots) -> int:
    with ExitStack() as held:
        found = 0
        while held.enter_context(slots.one()):
            found += 1
        return found


@pytest.mark.parametrize(("concurrency", "checks"), [(1, 1), (2, 1), (3, 1), (8, 6)])
def test_two_are_kept_for_what_is_no_check(concurrency: int, checks: int) -> None:
    slots = Slots.beside_others(concurrency, QUEUES)

    assert slots is not None
    assert free(slots) == checks
    assert Slots.beside_others(concurrency, [PROBE_QUEUE]) is None


def test_threads_share_the_slots_and_a_check_that_failed_gives_its_own_back() -> None:
    slots, together = Slots(3), Barrier(8)

    def hold(_: int) -> bool:
        with slots.one() as free:
            together.wait()
            return free

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(hold, range(8))) == 3
    with pytest.raises(ZeroDivisionError), slots.one():
        raise ZeroDivisionError
    assert free(slots) == 3


def test_a_check_without_a_slot_waits_and_is_rung_for_when_another_ends(service: Service) -> None:
    rung: list[tuple[str, ...]] = []

    class Heard:
        def ring(self, task: str, *ids: str) -> None:
            rung.append((task, *ids))

    endpoint_id = service.configure("http://127.0.0.1:9/v1", provider={"api_key": "${env:NO_SUCH_KEY}"})
    first, second = service.enqueue(endpoint_id, "first", "second", ring=False)
    slots = Slots(1)
    with service.context() as context:
        context.bell = Heard()
        with slots.one():
            execute_in_slot(slots, context, first)
        assert service.entry(first).status is RunStatus.QUEUED
        assert rung == []

        execute_in_slot(slots, context, first)
        assert rung[-1] == (EXECUTE, second)

        rung.clear()
        execute_in_slot(slots, context, first)  # a message that comes twice
        assert rung == []


def _hold_for_ever(slots: Slots, holding: Event) -> None:
    with slots.one():
        holding.set()
        multiprocessing.Event().wait()


def test_a_process_of_the_pool_that_dies_gives_its_slot_back() -> None:
    forks, slots = multiprocessing.get_context("fork"), Slots(2)
    holding = forks.Event()
    process = forks.Process(target=_hold_for_ever, args=(slots, holding))
    process.start()
    assert holding.wait(60)
    assert free(slots) == 1

    process.kill()
    process.join()

    wait_until(lambda: free(slots) == 2, "the slot of the dead process")
