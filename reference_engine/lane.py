"""Everything that runs under one profile: the requests with their jobs, what is planned, and what a pass gave."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reference_engine.errors import EngineError, EngineRequestError
from reference_engine.forward.batch import ReadOut
from reference_engine.interface import Exactness
from reference_engine.jobs import GenerateJob, Job, ScoreJob
from reference_engine.kv.radix import RadixTree
from reference_engine.kv.records import Records, records_of_rows
from reference_engine.runner import Passed, Runner, Sampled
from reference_engine.sched.limits import Counts
from reference_engine.sched.plan import Outcome, Plan
from reference_engine.sched.request import Request, State
from reference_engine.sched.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Planned:
    """A pass to come: `at` is when it was planned, in seconds of the monotonic clock."""

    lane: Lane
    plan: Plan
    at: float


class Lane:
    """Not safe for several threads at once; only what `launched` gives may run beside the rest.

    `exactness` says what its numbers are, and `remark` why they are not bitwise. Scores with up to `recorded_top_k`
    most likely tokens are kept; None keeps none. `recorded_positions` counts those that were answered from there.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        runner: Runner,
        tree: RadixTree,
        *,
        exactness: Exactness,
        remark: str | None,
        recorded_top_k: int | None,
        weight_bytes: int,
    ) -> None:
        self.exactness = exactness
        self.remark = remark
        self.weight_bytes = weight_bytes
        self.recorded_positions = 0
        self._scheduler = scheduler
        self._runner = runner
        self._tree = tree
        self._recorded_top_k = recorded_top_k
        self._jobs: dict[str, Job] = {}
        self._gained: list[GenerateJob] = []

    @property
    def idle(self) -> bool:
        return self._scheduler.idle

    @property
    def counts(self) -> Counts:
        return self._scheduler.counts

    def begin(self, job: Job) -> None:
        """Whatever becomes of the job, its own end tells."""
        try:
            if isinstance(job, ScoreJob) and self._answered_from_records(job):
                return
            self._scheduler.add(job.request)
        except EngineRequestError as error:
            job.fail(error)
            return
        self._jobs[job.request.id] = job

    def abandon(self, request_id: str) -> None:
        """Ends a job that nobody waits for any longer. One that has ended stays as it is."""
        self._scheduler.abort(request_id)
        self._jobs.pop(request_id, None)

    def plan(self) -> Planned | None:
        begun = time.monotonic()
        plan = self._scheduler.plan()
        return None if plan is None else Planned(self, plan, begun)

    def give_way(self) -> bool:
        """Lets the least urgent request go back to waiting, for its pages; False where none runs."""
        return self._scheduler.give_way()

    def settled(self, planned: Planned) -> Planned:
        """What is launched, once the pass before it has landed."""
        return replace(planned, plan=self._scheduler.settled(planned.plan))

    def launched(self, plan: Plan) -> Callable[[Callable[[], None]], Passed]:
        """The pass; what it is given is called where its computing begins."""
        jobs = {entry.request.id: job for entry in plan.entries if (job := self._jobs.get(entry.request.id))}
        return lambda begins: self._runner.run(plan, jobs, begins)

    def land(self, plan: Plan, passed: Passed) -> None:
        """Takes over what the pass gave; `hand_out` gives the tokens on, which wakes up those who wait for them."""
        for request_id, error in passed.failed.items():
            self._give_up(request_id, error)
        self._scheduler.commit(plan, self._outcomes(passed))
        for entry in plan.entries:
            if entry.request.state is State.FINISHED:
                self._conclude(entry.request)

    def hand_out(self) -> None:
        for job in self._gained:
            job.hand_out()
        self._gained.clear()

    def fail(self, plan: Plan, error: BaseException) -> None:
        """The pass broke off."""
        for request in self._scheduler.fail(plan):
            self._jobs.pop(request.id).fail(error)

    def close(self, error: BaseException) -> None:
        """Fails the jobs that are left and lets go of all pages. No pass may be in flight."""
        self.hand_out()
        for request_id, job in list(self._jobs.items()):
            self._scheduler.abort(request_id)
            job.fail(error)
        self._jobs.clear()
        self._tree.clear()

    def _give_up(self, request_id: str, error: EngineError) -> None:
        """Ends one job; those beside it in the pass go on."""
        self._scheduler.abort(request_id)
        job = self._jobs.pop(request_id, None)
        if job is not None:
            job.fail(error)

    def _recorded(self, job: ScoreJob) -> bool:
        """Whether what the job asks for is kept."""
        return self._recorded_top_k is not None and job.top_k <= self._recorded_top_k and not job.chosen

    def _answered_from_records(self, job: ScoreJob) -> bool:
        """Takes the rows that were read before for the same tokens; True where no row is left."""
        request = job.request
        if not self._recorded(job):
            return False
        first, length = request.readable_from, len(request.known)
        found = self._tree.records(request.known, first, length, job.top_k)
        rows = found.end - first if found.end == length else max(found.end - 1 - first, 0)
        if rows:
            job.rows.append(_rows_of(found, rows))
            self.recorded_positions += rows
            request.readable_from = min(first + rows, length - 1)
        if first + rows < length:
            return False
        job.finish()
        return True

    def _outcomes(self, passed: Passed) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        for request_id, rows in passed.scored.items():
            job = self._jobs.get(request_id)
            if isinstance(job, ScoreJob):
                job.rows.append(rows)
        for request_id, sampled in passed.sampled.items():
            job = self._jobs.get(request_id)
            if isinstance(job, GenerateJob):
                tokens, ended = _taken(job, sampled)
                outcomes[request_id] = Outcome(tokens, ended, sampled.drafted)
                self._gained.append(job)
        return outcomes

    def _conclude(self, request: Request) -> None:
        job = self._jobs.pop(request.id, None)
        if not isinstance(job, ScoreJob):
            return
        read = job.finish()
        if self._recorded(job):
            first = len(request.known) - len(read.log_normaliser)
            self._tree.store_records(request.known, records_of_rows(first, read))


def _taken(job: GenerateJob, sampled: Sampled) -> tuple[tuple[int, ...], bool]:
    """The tokens up to the one that ends the answer, and whether one does."""
    for line, token in enumerate(sampled.tokens):
        if job.take(token, sampled.read, line, sampled.masked_logprob):
            return sampled.tokens[: line + 1], True
    return sampled.tokens, False


def _rows_of(found: Records, rows: int) -> ReadOut:
    """The first rows of what is recorded; each one's own token stands at the next position."""
    own = slice(1, rows + 1)
    missing = rows - len(found.own_rank[own])
    return ReadOut(
        log_normaliser=found.log_normaliser[:rows],
        top_ids=found.top_ids[:rows],
        top_logits=found.top_logits[:rows],
        own_logit=np.append(found.own_logit[own], np.full(missing, np.nan, dtype=np.float32)),
        own_rank=np.append(found.own_rank[own], np.full(missing, -1, dtype=np.int32)),
        chosen_logits=np.empty((rows, 0), dtype=np.float32),
    )
