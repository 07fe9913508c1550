"""Sends a plan to one endpoint and brings back its samples, at the endpoint's pace and in the form it accepts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from probes.attempt import Asker, Exchange
from probes.capabilities import Capabilities
from probes.catalogue import model_names
from probes.clock import Clock, SystemClock
from probes.errors import ProbeError
from probes.failure import FailureKind
from probes.learning import LEARNABLE_STATUSES, learn
from probes.pace import Pace, Turns
from probes.plan import Attempt, Item, Outcome, Plan, ProbeKind, Sample
from probes.retry import wait_before_retry
from probes.standing import Standing, outcome_of
from probes.target import Target
from probes.transport import Transport

T = TypeVar("T")

OnSample = Callable[[Sample], None]
# Sends one item and returns its sample.
Ask = Callable[[Item], Awaitable[Sample]]

# Real endpoints teach four or five things; one that goes on is not going to be content.
MAX_LESSONS = 6

# Streams that run side by side slow each other down, so what they would measure is partly us; a plan whose items say
# when they leave measures just that.
_ONE_AT_A_TIME = frozenset({ProbeKind.LATENCY})
# Nothing was heard from the provider yet: a second try would be no wiser than the first.
_NO_CONTACT = frozenset({FailureKind.DNS, FailureKind.REFUSED, FailureKind.UNREACHABLE, FailureKind.TLS})
# The ways of a 4xx that may be about the body alone: refused, no such path, refused in plain text.
_OF_THE_BODY = frozenset({FailureKind.REJECTED, FailureKind.NOT_FOUND, FailureKind.PROTOCOL})


class Client:
    """Asks one endpoint. Enter and leave it within one `asyncio.run`: its connections belong to that loop.

    `capabilities` is what is known about the endpoint, and grows by what its refusals teach; keep it for the next run.
    `cancelled` holds the items whose requests were on their way when the sending was ended.
    `pace` says when a request may leave; by default the target's `rpm` does, for this client alone. `transport` is how
    it gets there; by default over the network, with the public authorities trusted. `known` is whether the endpoint is
    known to answer: nothing has to go alone then, and to turn single requests down is no reason to leave it alone.
    Making one raises ProviderAuthError or ProviderProtocolError where the key or a configured header cannot be sent.
    """

    def __init__(
        self,
        target: Target,
        capabilities: Capabilities | None = None,
        *,
        clock: Clock | None = None,
        pace: Turns | None = None,
        transport: Transport | None = None,
        known: bool = False,
    ) -> None:
        self.capabilities = capabilities or Capabilities()
        self.cancelled: list[Item] = []
        self._target = target
        self._clock = clock or SystemClock()
        self._pace = pace or Pace(target.rpm, self._clock)
        self._known = known
        self._answers = False
        self._jitter = random.Random()
        self._heard_from = False
        self._transport = transport or Transport(
            target.policy, clock=self._clock, max_connections=target.max_concurrency
        )
        self._asker = Asker(target, self._transport, self._clock)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    async def send(self, plan: Plan, *, on_sample: OnSample | None = None) -> list[Sample]:
        """Send every item in order and return the samples in the plan's order.

        `on_sample` is called with each sample as it is done, so nothing is lost to a cancellation. The first item goes
        alone until one succeeds: an endpoint that cannot be used costs one request, and what it teaches is known to
        the rest. Raises a ProbeError once the provider plainly cannot be used or should be left alone; the samples
        done by then are the error's `samples`.
        """
        run = _Run.of(plan, on_sample, self._clock.monotonic(), answers=self._answers)
        try:
            await self._send(plan, run)
        except ProbeError as error:
            error.samples = tuple(run.done())
            raise
        return run.done()

    async def pass_on(self, plan: Plan, on_sample: OnSample, *, sends_for_s: float | None = None) -> None:
        """`send` for a plan of any length: of a sample nothing stays here once `on_sample` was called with it. After
        `sends_for_s` seconds no further item is sent; those on their way are waited for."""
        now = self._clock.monotonic()
        ends = None if sends_for_s is None else now + sends_for_s
        await self._send(plan, _Run.of(plan, on_sample, now, answers=self._answers, ends=ends, collects=False))

    async def converse(
        self, conversations: Sequence[Callable[[Ask], Awaitable[T]]], *, on_sample: OnSample | None = None
    ) -> list[T]:
        """Hold conversations, each of which decides by what came what it asks next, and return what they come to.

        As many go side by side as the target allows. Everything else is as in `send`: requests leave one at a time
        until one succeeds, `on_sample` sees each sample, and a ProbeError carries those that were done.
        """
        run = _Run([], on_sample, self._clock.monotonic(), standing=Standing(answers=self._answers))
        one_at_a_time = asyncio.Lock()
        waiting = iter(enumerate(conversations))
        ends: dict[int, T] = {}

        async def ask(item: Item) -> Sample:
            run.items.append(item)
            place = len(run.items) - 1
            async with one_at_a_time:
                if not self._known and run.standing.succeeded == 0:
                    return await self._sample(run, place)
            return await self._sample(run, place)

        async def work() -> None:
            for place, conversation in waiting:
                ends[place] = await conversation(ask)

        try:
            await self._side_by_side(work, self._target.max_concurrency)
            if failure := run.standing.conclude():
                raise failure.error()
        except ProbeError as error:
            error.samples = tuple(run.done())
            raise
        return [ends[place] for place in sorted(ends)]

    async def models(self) -> list[str]:
        """The names the endpoint serves, from its /models list. Raises ProbeError."""
        await self._pace.turn()
        exchange = await self._asker.fetch("/v1/models")
        if exchange.failure is not None:
            raise exchange.failure.error()
        return model_names(exchange.attempt.body, self._target.place)

    async def _send(self, plan: Plan, run: _Run) -> None:
        while not self._known and run.standing.succeeded == 0 and (place := self._next_place(run)) is not None:
            await self._sample(run, place)
        run.begin_anew(self._clock.monotonic())
        together = plan.probe not in _ONE_AT_A_TIME or _is_scheduled(plan)
        width = self._target.max_concurrency if together else 1
        await self._side_by_side(partial(self._work, run), width)
        if failure := run.standing.conclude():
            raise failure.error()

    async def _side_by_side(self, work: Callable[[], Coroutine[Any, Any, None]], width: int) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(width):
                    group.create_task(work())
        except BaseExceptionGroup as errors:
            # The first to fail cancelled the others; it alone is the caller's business.
            first = errors.exceptions[0]
            raise first from first.__cause__

    async def _work(self, run: _Run) -> None:
        while (place := self._next_place(run)) is not None:
            await self._sample(run, place)

    def _next_place(self, run: _Run) -> int | None:
        return run.next_place(self._clock.monotonic())

    async def _sample(self, run: _Run, place: int) -> Sample:
        item = run.items[place]
        attempts: list[Attempt] = []
        if item.at is not None:
            await self._clock.sleep(max(0.0, run.due(item.at) - self._clock.monotonic()))
        exchange, request, held = await self._ask_until_settled(run, item, attempts)
        late = None if item.at is None or exchange.left_at is None else exchange.left_at - run.due(item.at)
        failure, outcome = exchange.failure, outcome_of(exchange.failure)
        known = run.standing.succeeded > 0
        if (item.verbatim or (item.at is not None and known)) and _is_refusal(exchange, known=known):
            attempts[-1] = replace(attempts[-1], error=None)
            failure, outcome = None, Outcome.REFUSED
        sample = Sample(
            item, outcome, exchange.completion, tuple(attempts), request, late, None if late is None else held
        )
        run.keep(place, sample)
        self._answers = self._answers or outcome is Outcome.OK
        turned_down = self._known and failure is not None and failure.kind is FailureKind.REJECTED
        stop = None if turned_down or outcome is Outcome.REFUSED else run.standing.add(sample, failure)
        if stop is not None:
            raise stop.error()
        return sample

    async def _ask_until_settled(
        self, run: _Run, item: Item, attempts: list[Attempt]
    ) -> tuple[Exchange, dict[str, Any], float]:
        """The last exchange, the body it was asked with, and for how long the pace held the attempts back."""
        retries, held = 0, 0.0
        while True:
            request = self._request(item)
            ready = self._clock.monotonic()
            await self._pace.turn()
            held += self._clock.monotonic() - ready
            try:
                exchange = await self._asker.ask(item.endpoint, request)
            except asyncio.CancelledError:
                self.cancelled.append(item)
                raise
            had_contact = self._heard_from
            self._heard_from = had_contact or exchange.status is not None
            if self._learned(run, item, request, exchange):
                attempts.append(replace(exchange.attempt, error=None, message="Not accepted in this form; adapted."))
                continue
            attempts.append(exchange.attempt)
            if exchange.failure is None:
                if not item.verbatim:
                    self._observe(request, exchange)
                return exchange, request, held
            wait = self._wait(exchange, retries, had_contact)
            if wait is None:
                return exchange, request, held
            retries += 1
            await self._clock.sleep(wait)

    def _request(self, item: Item) -> dict[str, Any]:
        body = {"model": self._target.served_name, **item.request, **self._target.extra_body}
        return {**body, **item.request} if item.verbatim else self.capabilities.adapt(body)

    def _learned(self, run: _Run, item: Item, sent: Mapping[str, Any], exchange: Exchange) -> bool:
        """Whether the item is worth sending again at once, in another form."""
        if item.verbatim or exchange.failure is None or exchange.failure.kind is FailureKind.QUOTA:
            return False
        if exchange.status not in LEARNABLE_STATUSES:
            return False
        if self._request(item) != sent:
            return True  # another request, in flight at the same time, was taught the same
        learned = learn(self.capabilities, sent, exchange.status, exchange.attempt.body)
        if learned is None or run.lessons >= MAX_LESSONS:
            return False
        run.lessons += 1
        self.capabilities = learned
        return True

    def _observe(self, request: Mapping[str, Any], exchange: Exchange) -> None:
        if exchange.completion is not None:
            self.capabilities = self.capabilities.observed(request, exchange.completion)

    def _wait(self, exchange: Exchange, retries: int, had_contact: bool) -> float | None:
        failure = exchange.failure
        if failure is None or (failure.kind in _NO_CONTACT and not had_contact):
            return None
        wait = wait_before_retry(
            failure.kind, retries=retries, retry_after_s=exchange.retry_after_s, jitter=self._jitter.random()
        )
        if wait is not None and failure.kind is FailureKind.RATE_LIMITED:
            self._pace.hold(wait)
        return wait


@dataclass(slots=True)
class _Run:
    """Items on their way: which of them are done, and what they say about the provider. `samples` are those done, where
    it collects them. None is sent after `ends`."""

    items: list[Item]
    on_sample: OnSample | None
    began: float
    ends: float | None = None
    collects: bool = True
    standing: Standing = field(default_factory=Standing)
    samples: dict[int, Sample] = field(default_factory=dict)
    taken: int = 0
    lessons: int = 0

    @classmethod
    def of(
        cls,
        plan: Plan,
        on_sample: OnSample | None,
        now: float,
        *,
        answers: bool,
        ends: float | None = None,
        collects: bool = True,
    ) -> _Run:
        """Of a plan whose first item is due now: what an earlier attempt asked of it may be missing."""
        first = plan.items[0].at if plan.items else None
        standing = Standing(endures=_is_scheduled(plan), answers=answers)
        return cls(list(plan.items), on_sample, now - (first or 0.0), ends, collects, standing)

    def begin_anew(self, now: float) -> None:
        """What goes on by the schedule counts from here: those before went alone, and that is nobody's delay."""
        if self.taken and (at := self.items[self.taken - 1].at) is not None:
            self.began = now - at

    def due(self, at: float) -> float:
        """The moment, on the client's monotonic clock, that lies `at` seconds after the plan began."""
        return self.began + at

    def next_place(self, now: float) -> int | None:
        if self.taken >= len(self.items) or (self.ends is not None and now >= self.ends):
            return None
        self.taken += 1
        return self.taken - 1

    def keep(self, place: int, sample: Sample) -> None:
        if self.collects:
            self.samples[place] = sample
        if self.on_sample is not None:
            self.on_sample(sample)

    def done(self) -> list[Sample]:
        return [self.samples[place] for place in sorted(self.samples)]


def _is_scheduled(plan: Plan) -> bool:
    return any(item.at is not None for item in plan.items)


def _is_refusal(exchange: Exchange, *, known: bool) -> bool:
    """Whether the endpoint turned this very body down, as one sent to be turned down asks it to. `known` is whether our
    key was accepted before: then a 403 is about the body as well."""
    failure, status = exchange.failure, exchange.status
    if failure is None or status is None or not 400 <= status < 500:
        return False
    return failure.kind in _OF_THE_BODY or (known and status == 403 and failure.kind is FailureKind.AUTH)
