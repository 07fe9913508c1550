"""Continuous batching with one path: the computed tokens of every request catch up with its known ones."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Mapping
from operator import attrgetter

from reference_engine.errors import EngineRequestError
from reference_engine.forward.batch import PAGE
from reference_engine.sched.deferral import computes_for
from reference_engine.sched.limits import Counts, Limits
from reference_engine.sched.memory import Memory
from reference_engine.sched.pages import Pages
from reference_engine.sched.plan import Entry, Outcome, Plan
from reference_engine.sched.request import Request, State, pages_for
from reference_engine.sched.step import Step

_NOTHING = Outcome()
_URGENCY = attrgetter("urgency")


class Scheduler:
    """Decides from lengths, pages and the order of arrival alone. Not safe for several threads at once.

    The loop around it, where each pass runs while the one after it is planned:

        ahead = scheduler.plan()
        scheduler.commit(running, outcomes of the pass that has ended)
        running = scheduler.settled(ahead or scheduler.plan())
        launch batch_of(running)

    Of each plan, first come the running requests that lack one row, then those that lack more (a chunk each of what
    the budget leaves), then requests that wait, then room for drafted tokens: each in the order of urgency. Pages go
    back when no plan in flight has rows in them, so a request that ended or was preempted may hold its pages for one
    pass more.
    """

    def __init__(self, limits: Limits, memory: Memory) -> None:
        self._limits = limits
        self._pages = Pages(memory)
        self._arrivals = 0
        self._preemptions = 0
        self._cached_tokens = 0
        self._drafted_tokens = 0
        self._accepted_tokens = 0
        self._requests: dict[str, Request] = {}
        self._waiting: list[Request] = []
        self._running: list[Request] = []
        self._uncommitted: deque[Plan] = deque()

    @property
    def counts(self) -> Counts:
        return Counts(
            len(self._waiting),
            len(self._running),
            self._preemptions,
            self._cached_tokens,
            self._drafted_tokens,
            self._accepted_tokens,
        )

    @property
    def idle(self) -> bool:
        return not self._requests and not self._uncommitted

    def add(self, request: Request) -> None:
        """Raises EngineRequestError for a request that could not have enough pages even alone."""
        if request.id in self._requests:
            raise ValueError(f"There is a request {request.id} already.")
        if not self._pages.fits(request, self._limits.token_budget):
            needed = pages_for(request.most_rows)
            raise EngineRequestError(
                f"{request.prompt_length} tokens and {request.max_tokens} to generate need {needed} pages of {PAGE} "
                "tokens: more than the memory for keys and values holds.",
                remedy="Ask for fewer tokens, or start the engine with more --kv-bytes.",
            )
        request.arrival = self._arrivals
        self._arrivals += 1
        self._requests[request.id] = request
        insort(self._waiting, request, key=_URGENCY)

    def abort(self, request_id: str) -> None:
        """Ends a request now; what a pass in flight still gives it is discarded. One that has ended stays as it is."""
        request = self._requests.get(request_id)
        if request is not None:
            self._end(request)

    def plan(self) -> Plan | None:
        """The next pass, or None while there is nothing to run before the plan in flight is committed."""
        if len(self._uncommitted) > 1:
            raise ValueError("Two plans are in flight: commit the first.")
        step = Step(self._limits.token_budget)
        self._share_among_running(step)
        self._admit_waiting(step)
        self._leave_room_for_drafts(step)
        if not step.shares:
            return None
        plan = step.plan(ahead=bool(self._uncommitted))
        for entry in plan.entries:
            entry.request.planned(entry)
        self._uncommitted.append(plan)
        return plan

    def settled(self, plan: Plan) -> Plan:
        """The plan at launch, once the one before it is committed: with every row where it belongs."""
        if len(self._uncommitted) != 1 or self._uncommitted[0] is not plan:
            raise ValueError("A plan is settled when it alone is in flight.")
        self._uncommitted[0] = settled = plan.settled()
        return settled

    def give_way(self) -> bool:
        """Preempts the least urgent running request, for others that share the memory; False where none runs."""
        if not self._running:
            return False
        self._preempt(self._running[-1])
        return True

    def commit(self, plan: Plan, outcomes: Mapping[str, Outcome]) -> None:
        """Takes over what the oldest plan's pass gave, by request id.

        Raises ValueError, and changes nothing, for outcomes that the plan cannot have.
        """
        self._check_turn(plan)
        for entry in plan.entries:
            if entry.request.state is not State.FINISHED:
                entry.check(outcomes.get(entry.request.id, _NOTHING))
        self._landed(plan)
        for entry in plan.entries:
            self._commit_entry(entry, outcomes.get(entry.request.id, _NOTHING))
            self._pages.landed(entry.request)

    def fail(self, plan: Plan) -> list[Request]:
        """The oldest plan's pass broke off: its requests end, their pages are not trusted. Gives those that ended."""
        self._check_turn(plan)
        self._landed(plan)
        ended = []
        for entry in plan.entries:
            request = entry.request
            request.landed(entry)
            request.forget_computed()
            if request.state is not State.FINISHED:
                self._end(request)
                ended.append(request)
            self._pages.landed(request)
        return ended

    def _share_among_running(self, step: Step) -> None:
        ready = [request for request in self._running if request.remaining > 0]
        for request in sorted(ready, key=lambda request: request.remaining > 1):
            if request.state is not State.RUNNING:
                continue
            rows = min(request.remaining, step.left)
            if not rows:
                return
            if self._grow(request, rows, step):
                step.give(request, rows)

    def _grow(self, request: Request, rows: int, step: Step) -> bool:
        """Pages for the next rows; less urgent requests are preempted for them. One that lacks pages even alone begins
        again, without the pages that it has."""
        while not self._pages.grow(request, rows):
            last = self._running[-1]
            if self._pages.leaving or (last is request and not self._lacks_alone(request)):
                return False
            step.take_back(last)
            self._preempt(last)
            if last is request:
                return False
        return True

    def _lacks_alone(self, request: Request) -> bool:
        return self._running == [request] and not self._uncommitted and not self._pages.others_hold()

    def _preempt(self, request: Request) -> None:
        self._preemptions += 1
        self._running.remove(request)
        request.state = State.WAITING
        insort(self._waiting, request, key=_URGENCY)
        self._pages.leave(request)

    def _admit_waiting(self, step: Step) -> None:
        for request in tuple(self._waiting):
            if not step.left or len(self._running) == self._limits.max_running:
                return
            if any(computes_for(running, request) for running in self._running):
                continue
            alone = not self._running and not self._pages.leaving
            copies = None if request.in_flight else self._pages.admit(request, step.left, alone=alone)
            if copies is None:
                return
            self._waiting.remove(request)
            insort(self._running, request, key=_URGENCY)
            self._cached_tokens += request.computed
            step.copies += copies
            step.give(request, min(request.remaining, step.left))

    def _leave_room_for_drafts(self, step: Step) -> None:
        """Behind single rows only: a drafter goes on from one token. One row is left for the plan after this one, so
        that it can be made while the drafts are verified, whatever becomes of them."""
        for share in step.shares:
            request = share.request
            if not (request.drafts and share.samples and share.rows == 1):
                continue
            follows = request.next_row + 1
            most = min(self._limits.max_drafted, request.pace.most, step.left, request.most_rows - follows - 1)
            if most > 0:
                enough = self._pages.grow(request, 1 + most)
                share.drafts = most if enough else min(most, len(request.pages) * PAGE - follows)
                step.left -= share.drafts

    def _check_turn(self, plan: Plan) -> None:
        if not self._uncommitted or self._uncommitted[0] is not plan:
            raise ValueError("Plans are committed once each, in the order in which they were made.")

    def _landed(self, plan: Plan) -> None:
        self._uncommitted.popleft()
        self._pages.release(plan.borrowed)

    def _commit_entry(self, entry: Entry, outcome: Outcome) -> None:
        request = entry.request
        if request.state is State.FINISHED:
            request.committed(entry, ())
            return
        request.committed(entry, outcome.tokens)
        self._learn(entry, outcome)
        if outcome.finished or request.complete:
            self._end(request)
        elif entry.start < request.prompt_length:
            self._pages.keep(request)  # for those who begin alike, while it still runs

    def _learn(self, entry: Entry, outcome: Outcome) -> None:
        request = entry.request
        if outcome.drafted:
            accepted = len(outcome.tokens) - 1
            self._drafted_tokens += outcome.drafted
            self._accepted_tokens += accepted
            request.pace = request.pace.learned(outcome.drafted, accepted)
        elif entry.samples and not entry.drafts:
            request.pace = request.pace.rested()

    def _end(self, request: Request) -> None:
        del self._requests[request.id]
        (self._running if request.state is State.RUNNING else self._waiting).remove(request)
        request.state = State.FINISHED
        self._pages.leave(request)
