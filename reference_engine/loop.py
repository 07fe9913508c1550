"""The engine's thread: it takes requests in, plans the next pass while the last one runs, and hands out what came."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from reference_engine.errors import EngineError
from reference_engine.jobs import Job
from reference_engine.lane import Lane, Planned
from reference_engine.runner import Passed

logger = logging.getLogger("reference_engine")

T = TypeVar("T")

_TRACED = 4096


@dataclass(frozen=True, slots=True)
class Step:
    """One pass in the trace: its rows, and when it was planned, begun and ended, in seconds of the monotonic clock."""

    rows: int
    planned: float
    begun: float
    ended: float


@dataclass(frozen=True, slots=True)
class _Flight:
    planned: Planned
    computing: threading.Event
    passed: Future[tuple[Passed, Step]]


class Loop:
    """Safe for several threads. One thread owns lanes, schedulers, trees and arena; passes run on another, one at a
    time, the lanes in turn."""

    def __init__(self) -> None:
        self._lanes: deque[Lane] = deque()
        self._by_age: list[Lane] = []
        self._messages: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._broken: BaseException | None = None
        self._trace: deque[Step] = deque(maxlen=_TRACED)
        self.passes = 0
        self.rows = 0
        self._passes = ThreadPoolExecutor(1, thread_name_prefix="engine-pass")
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
        self._thread.start()

    @property
    def trace(self) -> list[Step]:
        """The last passes, the oldest first."""
        return list(self._trace)

    def call(self, work: Callable[[], T]) -> T:
        """Runs `work` on the thread that owns the memory, perhaps beside a pass; gives or raises what it does."""
        outcome: Future[T] = Future()

        def answer() -> None:
            try:
                outcome.set_result(work())
            except BaseException as error:  # noqa: BLE001
                outcome.set_exception(error)

        self._tell(answer)
        return outcome.result()

    def as_pass(self, work: Callable[[], T]) -> T:
        """Runs `work` where passes run, with no other beside it; to be called from `call`."""
        return self._passes.submit(work).result()

    def add(self, lane: Lane) -> None:
        """To be called on the loop's own thread, from `call`."""
        self._lanes.append(lane)
        self._by_age.append(lane)

    def remove(self, lane: Lane) -> None:
        """Likewise. Fails what the lane still has to do."""
        self._lanes.remove(lane)
        self._by_age.remove(lane)
        lane.close(_closed())

    def submit(self, lane: Lane, job: Job) -> None:
        """The job's own end tells what becomes of it. Raises EngineError once the engine is closed."""
        self._tell(lambda: lane.begin(job))

    def abort(self, lane: Lane, request_id: str) -> None:
        with self._changed:
            if not self._closed:
                self._messages.append(lambda: lane.abandon(request_id))
                self._changed.notify()

    def close(self) -> None:
        """Fails the jobs that are left."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        self._passes.shutdown()

    def _tell(self, message: Callable[[], None]) -> None:
        with self._changed:
            if self._closed:
                raise _closed() from self._broken
            self._messages.append(message)
            self._changed.notify()

    def _serve(self) -> None:
        try:
            self._run()
        except BaseException as error:  # noqa: BLE001
            logger.error("the engine broke off: %s", type(error).__name__)
            self._broken = error
        with self._changed:
            self._closed = True
        self._take_messages()
        for lane in self._lanes:
            lane.close(self._broken or _closed())

    def _run(self) -> None:
        flight: _Flight | None = None
        gained: Lane | None = None
        while not self._closed:
            self._take_messages()
            ahead = self._next()
            if gained is not None:
                _hand_out(gained, flight)
                gained = None
            if flight is not None:
                self._land(flight)
                gained = flight.planned.lane
            planned = ahead or self._next()
            flight = None if planned is None else self._launch(planned)
            if flight is None:
                if gained is not None:
                    _hand_out(gained, None)
                    gained = None
                self._rest()
        if flight is not None:
            error = flight.passed.exception() or _closed()
            flight.planned.lane.fail(flight.planned.plan, error)

    def _take_messages(self) -> None:
        with self._changed:
            messages, self._messages = self._messages, deque()
        for message in messages:
            message()

    def _next(self) -> Planned | None:
        """From the lane whose turn it is, or the next one that has something to run."""
        for _ in range(len(self._lanes)):
            self._lanes.rotate(-1)
            planned = self._lanes[-1].plan()
            if planned is not None:
                return planned
        return None

    def _rest(self) -> None:
        """Until a message comes, where nothing is left to do. Of lanes in each other's way all but one give way."""
        waiting = [lane for lane in self._lanes if not lane.idle]
        if waiting and not self._messages:
            self._let_first(min(waiting, key=self._by_age.index), waiting)
            return
        with self._changed:
            self._changed.wait_for(lambda: self._messages or self._closed)

    def _let_first(self, first: Lane, waiting: Sequence[Lane]) -> None:
        """All others give way to the oldest lane, which has the next turn: so one lane at least comes to its end."""
        others = [lane for lane in waiting if lane is not first]
        if not _gave_way(others) and not _gave_way([first]):
            raise AssertionError("requests wait and none can run")
        self._lanes.remove(first)
        self._lanes.appendleft(first)

    def _launch(self, planned: Planned) -> _Flight:
        planned = planned.lane.settled(planned)
        work, computing = planned.lane.launched(planned.plan), threading.Event()

        def run() -> tuple[Passed, Step]:
            begun = time.monotonic()
            try:
                passed = work(computing.set)
            finally:
                computing.set()
            return passed, Step(planned.plan.rows, planned.at, begun, time.monotonic())

        return _Flight(planned, computing, self._passes.submit(run))

    def _land(self, flight: _Flight) -> None:
        lane, plan = flight.planned.lane, flight.planned.plan
        error = flight.passed.exception()
        if error is not None:
            lane.fail(plan, error)
            return
        passed, step = flight.passed.result()
        self._trace.append(step)
        self.passes += 1
        self.rows += step.rows
        lane.land(plan, passed)


def _hand_out(lane: Lane, flight: _Flight | None) -> None:
    """Once the next pass computes: each thread that is woken up wants the interpreter, which the pass needs first."""
    if flight is not None:
        flight.computing.wait()
    lane.hand_out()


def _gave_way(lanes: Sequence[Lane]) -> int:
    """How many requests of these lanes ran and do no longer."""
    return sum(1 for lane in lanes for _ in iter(lane.give_way, False))


def _closed() -> EngineError:
    return EngineError("The engine is closed.", remedy="Load the model again.")
