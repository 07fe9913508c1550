"""The loop around the scheduler over the toy model, with everything checked at every step."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reference_engine.forward.batch import Batch
from reference_engine.sched.limits import Limits
from reference_engine.sched.plan import Entry, Outcome, Plan, Reason, batch_of
from reference_engine.sched.request import Request, State
from reference_engine.sched.scheduler import Scheduler
from tests.reference_engine.sched.readable_memory import ReadableMemory
from tests.reference_engine.sched.toy_model import STOP, VOCABULARY, alone, break_off, next_token, run, states

Drafts = Callable[[Request, int], Sequence[int]]
"""Some tokens that may follow `request.known`, n of which are taken at most."""


@dataclass
class Pass:
    """`verified` is the plan with its drafted tokens."""

    plan: Plan
    verified: Plan
    batch: Batch
    states: list[int] | None = None


@dataclass
class ToyEngine:
    """`slow` passes write at the last moment (when the next plan is made and requests are aborted), others at once."""

    memory: ReadableMemory
    limits: Limits
    overlap: bool = False
    drafts: Drafts | None = None
    slow: bool = True
    failing: frozenset[int] = frozenset()
    requests: dict[str, Request] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)
    plans: list[Plan] = field(default_factory=list)
    in_flight: list[Plan] = field(default_factory=list)
    first_reads: dict[str, int] = field(default_factory=dict)
    read: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    running: Pass | None = None
    passes: int = 0

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.limits, self.memory)

    def add(self, request: Request) -> Request:
        self.scheduler.add(request)
        self.requests[request.id] = request
        self.first_reads[request.id] = request.readable_from
        return request

    def abort(self, request_id: str) -> None:
        if self.requests[request_id].state is not State.FINISHED:
            self.given_up.add(request_id)
        self.scheduler.abort(request_id)
        self.check()

    def plan(self) -> Plan | None:
        plan = self.scheduler.plan()
        if plan:
            self.plans.append(plan)
            self.in_flight.append(plan)
            assert plan.rows <= self.limits.token_budget
            assert self.scheduler.counts.running <= self.limits.max_running
            assert all(entry.request.state is State.RUNNING for entry in plan.entries)
            assert len({entry.request.id for entry in plan.entries}) == len(plan.entries)
        self.check()
        return plan

    def step(self, aborts: Sequence[str] = ()) -> bool:
        """One turn of the loop; False when there was nothing to run. `aborts` come while a pass is in flight."""
        ahead = self.plan() if self.overlap or not self.running else None
        for request_id in aborts:
            self.abort(request_id)
        if self.running:
            self._land(self.running)
        planned = ahead or self.plan()
        self.running = self._launch(planned) if planned else None
        return self.running is not None

    def drain(self, most_steps: int) -> int:
        """Steps until everything has ended; nothing is left over then but what the prefix tree remembers."""
        steps = 0
        while self.step() or self.running or not self.scheduler.idle:
            steps += 1
            assert steps <= most_steps, "a request starves"
        assert all(request.state is State.FINISHED for request in self.requests.values())
        assert not any(request.pages for request in self.requests.values())
        self.memory.check(())
        return steps

    def check(self) -> None:
        assert [rule for request in self.requests.values() for rule in request.broken_rules()] == []
        held = [page for request in self.requests.values() for page in request.pages]
        self.memory.check([*held, *[page for plan in self.in_flight for page in plan.borrowed]])
        for entry in [entry for plan in self.in_flight for entry in plan.entries]:
            still = entry.request.pages[: len(entry.pages)]
            assert self.memory.seen(still, entry.start) == self.memory.seen(entry.pages, entry.start), "taken in flight"

    def check_answers(self) -> None:
        """Every request got what it gets alone: each row that it wants once, none that it does not want."""
        for request in self.requests.values():
            prompt = request.known[: request.prompt_length]
            answer = alone(prompt, request.max_tokens)
            if request.id in self.given_up:
                assert answer[: len(request.known)] == request.known
            else:
                assert request.known == answer
                last = len(answer) - (1 if request.max_tokens else 0)
                assert sorted(self.read[request.id]) == list(range(self.first_reads[request.id], last))
            expected = states(request.known)
            assert all(expected[row] == state for row, state in self.read[request.id].items())

    def _launch(self, planned: Plan) -> Pass:
        plan = self.scheduler.settled(planned)
        self.in_flight[self.in_flight.index(planned)] = plan
        verified = plan.with_drafts(self._drafted(plan))
        launched = Pass(plan, verified, batch_of(verified))
        self.passes += 1
        if not self.slow and self.passes not in self.failing:
            launched.states = run(self.memory, verified, launched.batch)
        return launched

    def _drafted(self, plan: Plan) -> dict[str, Sequence[int]]:
        if self.drafts is None:
            return {}
        drafting = [entry for entry in plan.entries if entry.drafts and entry.request.state is not State.FINISHED]
        for entry in drafting:
            assert entry.start == len(entry.request.known) - 1, "there is more than one token to go on from"
        return {entry.request.id: self.drafts(entry.request, entry.drafts) for entry in drafting}

    def _land(self, landed: Pass) -> None:
        if self.passes in self.failing:
            break_off(self.memory, landed.verified)
            self.given_up |= {request.id for request in self.scheduler.fail(landed.plan)}
        else:
            read = landed.states if landed.states is not None else run(self.memory, landed.verified, landed.batch)
            outcomes = {
                entry.request.id: self._outcome(entry, read[lines])
                for entry, lines in landed.verified.read_lines()
                if entry.request.state is not State.FINISHED
            }
            self.scheduler.commit(landed.plan, outcomes)
        self.in_flight.remove(landed.plan)
        self.check()

    def _outcome(self, entry: Entry, read: list[int]) -> Outcome:
        reasons = [entry.reason(row) for row in entry.reads]
        by_row = dict(zip(entry.reads, read, strict=True))
        scores = reasons.count(Reason.SCORE)
        tokens = _accepted(entry.drafted, read[scores:]) if entry.samples else []
        for row in entry.reads[: scores + len(tokens)]:
            assert row not in self.read[entry.request.id], "a row is read twice"
            self.read[entry.request.id][row] = by_row[row]
        return Outcome(tokens, bool(tokens) and tokens[-1] == STOP, len(entry.drafted))


def _accepted(drafted: Sequence[int], read: Sequence[int]) -> list[int]:
    """Tokens by sample match, to the first stop token."""
    tokens: list[int] = []
    for state, draft in zip(read, [*drafted, None], strict=True):
        tokens.append(next_token(state))
        if tokens[-1] != draft or tokens[-1] == STOP:
            break
    return tokens


def drafter(skill: float, seed: int) -> Drafts:
    """Right with probability `skill` at each token, wrong otherwise; sometimes it says nothing, or more than asked."""
    rng = random.Random(seed)

    def drafts(request: Request, most: int) -> list[int]:
        if rng.random() < 0.1:
            return []
        right = alone(request.known, most + rng.randrange(2))[len(request.known) :]
        return [token if rng.random() < skill else (token + 1) % VOCABULARY for token in right]

    return drafts
