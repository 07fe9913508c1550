"""Sends a check's plans and keeps every sample, whatever ends the sending: a limit, the provider, or the user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from types import TracebackType
from typing import Any, Protocol

from monitor.check.brake import Brake
from monitor.check.budget import Budget
from monitor.check.charge import charge_of, charge_of_unanswered
from monitor.check.options import Progress
from monitor.check.sizes import Sizes
from monitor.check.storing import Storing
from monitor.config import Prices
from monitor.usage import Tokens
from probes.capabilities import Capabilities
from probes.client import Ask, Client
from probes.clock import SystemClock
from probes.conversation import Conversation, Talk, hold, replay
from probes.errors import ProbeError
from probes.pace import Pace, Turns
from probes.plan import Plan, ProbeKind, Sample
from probes.target import Target


class Stop(StrEnum):
    """Why sending ended before everything was sent."""

    TIMEOUT = "timeout"
    BUDGET = "budget"
    PROVIDER = "provider"
    INTERRUPTED = "interrupted"


@dataclass
class Asked:
    """What came of a check's plans. `charge` is what they may have cost, with what was on its way at the end;
    `error` is what the caller has to raise once the samples are safe."""

    capabilities: Capabilities
    samples: dict[ProbeKind, list[Sample]] = field(default_factory=dict)
    charge: Tokens = field(default_factory=Tokens)
    stop: Stop | None = None
    error: ProbeError | KeyboardInterrupt | None = None

    @property
    def all_samples(self) -> list[Sample]:
        return [sample for samples in self.samples.values() for sample in samples]


class BudgetReachedError(Exception):
    """The budget is spent: nothing more may be sent."""


@dataclass(frozen=True, slots=True)
class Limits:
    """timeout: seconds for all sending, None: no limit. `prices` are what the budget's dollars go by; `sizes`: of all
    that may be sent."""

    timeout: float | None
    budget: Budget
    prices: Prices | None
    sizes: Sizes

    def reached(self, spent: Tokens) -> bool:
        """Whether what was used ends the sending; requests are counted as they leave."""
        use = replace(self.budget, requests=None).most_used(0, spent, self.prices)
        return use is not None and use.share <= 1.0


class Counted:
    """The pace of a client that may send so many requests and no more."""

    def __init__(self, pace: Turns, left: int | None) -> None:
        self._pace = pace
        self._left = left

    async def turn(self) -> None:
        if self._left is not None:
            if self._left <= 0:
                raise BudgetReachedError
            self._left -= 1
        await self._pace.turn()

    def hold(self, seconds: float) -> None:
        self._pace.hold(seconds)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a check is asked: within which limits, at whose pace (None: this check's own), and until who stops it."""

    limits: Limits
    pace: Turns | None = None
    brake: Brake = field(default_factory=Brake)


class Beside(Protocol):
    """Who is asked the same as the endpoint, at its side, for as long as the context lasts: each item that the endpoint
    was asked, and each conversation that it held. `turn_to` says which probe is asked next."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def turn_to(self, probe: ProbeKind) -> None: ...

    def hear(self, probe: ProbeKind, sample: Sample) -> None: ...

    def hold(self, probe: ProbeKind, conversation: Conversation) -> None: ...


class Nobody:
    """Nobody is asked beside the endpoint."""

    async def __aenter__(self) -> None:
        """Nothing to begin."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to end."""

    def turn_to(self, probe: ProbeKind) -> None:
        """Nobody waits."""

    def hear(self, probe: ProbeKind, sample: Sample) -> None:
        """Nobody listens."""

    def hold(self, probe: ProbeKind, conversation: Conversation) -> None:
        """Nobody talks."""


class Kept(Protocol):
    """Where samples go: `keep` takes each as it is done and gives back what is judged of it, `flush` stores what was
    taken."""

    def keep(self, probe: ProbeKind, sample: Sample) -> Sample: ...

    def flush(self) -> None: ...


def ask(
    target: Target,
    known: Mapping[str, Any],
    plans: Sequence[Plan],
    manner: Manner,
    *,
    before: Mapping[ProbeKind, Sequence[Sample]],
    kept: Kept,
    progress: Progress,
    beside: Beside | None = None,
) -> Asked:
    """Send the plans one after the other. `before` are samples that are there already, which count as spent. Raises
    what the brake was pulled for, and what `kept` and `beside` raise."""
    asked = Asked(Capabilities.from_dict(known), {kind: list(samples) for kind, samples in before.items()})
    try:
        asyncio.run(_ask(target, plans, manner, asked, kept, progress, beside or Nobody()))
    except KeyboardInterrupt as interrupt:
        asked.stop, asked.error = Stop.INTERRUPTED, interrupt
    except TimeoutError:
        asked.stop = Stop.TIMEOUT
    except BudgetReachedError:
        asked.stop = Stop.BUDGET
    except ProbeError as error:
        asked.stop, asked.error = Stop.PROVIDER, error
    finally:
        kept.flush()
    return asked


async def _ask(
    target: Target,
    plans: Sequence[Plan],
    manner: Manner,
    asked: Asked,
    kept: Kept,
    progress: Progress,
    beside: Beside,
) -> None:
    limits = manner.limits
    storing = Storing(kept.flush, manner.pace or Pace(target.rpm, SystemClock()), manner.brake)
    asked.charge = charge_of(asked.all_samples, limits.sizes)
    sent = sum(len(sample.attempts) for sample in asked.all_samples)
    counted = Counted(storing, None if limits.budget.requests is None else limits.budget.requests - sent)
    with manner.brake.on_this_task():
        async with (
            beside,
            asyncio.timeout(limits.timeout),
            Client(target, asked.capabilities, pace=counted) as client,
        ):
            try:
                for plan in plans:
                    done = asked.samples.setdefault(plan.probe, [])
                    beside.turn_to(plan.probe)
                    for sample in done:
                        beside.hear(plan.probe, sample)

                    def on_sample(sample: Sample, done: list[Sample] = done, probe: ProbeKind = plan.probe) -> None:
                        asked.charge += charge_of([sample], limits.sizes)
                        beside.hear(probe, sample)
                        done.append(kept.keep(probe, sample))
                        storing.soon()
                        progress.step(f"asking: {probe.value}")
                        asked.capabilities = client.capabilities
                        if limits.reached(asked.charge):
                            raise BudgetReachedError

                    if plan.items:
                        await client.pass_on(plan, on_sample)
                    if plan.conversations:
                        await client.converse(_gone_on_with(plan, done, beside), on_sample=on_sample)
            finally:
                asked.charge += charge_of_unanswered(client.cancelled, limits.sizes)


def _gone_on_with(plan: Plan, done: Sequence[Sample], beside: Beside) -> list[Callable[[Ask], Awaitable[None]]]:
    """The plan's conversations, each from where the samples that are there have brought it."""
    there = {(sample.item.key, sample.item.rep): sample for sample in done}
    left: list[Callable[[Ask], Awaitable[None]]] = []
    for conversation in plan.conversations:
        talk = conversation.begin()
        replay(talk, there)
        if talk.stop is None:
            left.append(partial(_held, talk=talk, then=partial(beside.hold, plan.probe, conversation)))
        else:
            beside.hold(plan.probe, conversation)
    return left


async def _held(ask: Ask, talk: Talk, then: Callable[[], None]) -> None:
    await hold(ask, talk)
    then()
