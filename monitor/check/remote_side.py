"""Asks a reference that is another endpoint what the endpoint was asked, right after it: by its own key, at its own
pace, within its own part of the budget."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from monitor import clock
from monitor.check.ask import BudgetReachedError, Counted, Manner
from monitor.check.asked_beside import items_beside
from monitor.check.charge import charge_of, charge_of_unanswered
from monitor.check.options import Progress
from monitor.check.plans import Planned
from monitor.check.remote_reference import RemoteReference
from monitor.usage import Tokens
from probes.capabilities import Capabilities
from probes.client import Ask, Client
from probes.clock import SystemClock
from probes.conversation import Conversation, hold
from probes.errors import ProbeError
from probes.pace import Pace
from probes.plan import Item, ProbeKind, Sample

_Job = Callable[[Ask], Awaitable[None]]
# What the asking may end with and leave the answers worth waiting for.
_ENDS = (TimeoutError, BudgetReachedError)


class RemoteSide:
    """One check's side of the reference; enter it within one `asyncio.run`.

    An item is asked once the endpoint was asked it, and a conversation held once the endpoint held it: a run that stops
    early asks the reference no more than that, and what is compared lies as far apart as the slower of the two makes
    it. After the endpoint's last answer it has `within_s` seconds, of the manner's timeout (None: as long as it takes).
    That it fails is no fault of the endpoint: `why_not` says in words what kept it from answering, and nothing is
    raised.

    manner: None where it may not be asked at all, for `why_not`. judged: probes that an earlier attempt has judged.
    Making one raises SecretError where the reference's key is not there.
    """

    def __init__(
        self,
        reference: RemoteReference,
        planned: Planned,
        manner: Manner | None,
        progress: Progress,
        *,
        capabilities: Capabilities,
        within_s: float | None = None,
        judged: Collection[ProbeKind] = (),
        why_not: str = "",
    ) -> None:
        self.reference = reference
        self.why_not = why_not
        self.requests = 0
        # What it may have cost, with what was on its way at the end.
        self.charge = Tokens()
        self._target = reference.target()
        self._manner = manner
        self._progress = progress
        self._capabilities = capabilities
        self._within_s = within_s
        self._judged = judged
        self._wanted = {
            (probe, item.key, item.rep): item
            for probe, items in items_beside(planned).items()
            if probe not in judged
            for item in items
        }
        self._later = [] if planned.evals is None else [(one.item, one.rep) for one in planned.evals.graded]
        self.foreseen = 0 if manner is None else len(self._wanted)
        self._answers: defaultdict[ProbeKind, list[Sample]] = defaultdict(list)

    @property
    def samples(self) -> list[Sample]:
        return [sample for samples in self._answers.values() for sample in samples]

    @property
    def microusd(self) -> int | None:
        """What it may have cost, in millionths of a US dollar; None without prices."""
        return self.charge.microusd(self.reference.config.prices)

    def answers(self, probe: ProbeKind) -> Sequence[Sample]:
        return self._answers[probe]

    async def __aenter__(self) -> Self:
        self._began = clock.monotonic()
        self._jobs: asyncio.Queue[_Job | None] = asyncio.Queue()
        self._may_ask = asyncio.Event()
        self._task = asyncio.create_task(self._ask(self._manner) if self._manner else _nothing())
        # Answers of an earlier attempt are there as grades alone.
        for key, rep in self._later:
            self._put(ProbeKind.EVALS, key, rep)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and not issubclass(kind, _ENDS):
            self._task.cancel()
            await asyncio.wait([self._task])
            return
        self._may_ask.set()
        for _ in range(self._width):
            self._jobs.put_nowait(None)
        try:
            await asyncio.wait_for(self._task, self._left_s())
        except TimeoutError:
            self.why_not = "it was not done in time"

    def turn_to(self, probe: ProbeKind) -> None:
        """Streams whose times are measured go alone: what leaves meanwhile would slow them down."""
        if probe is ProbeKind.LATENCY:
            self._may_ask.clear()
        else:
            self._may_ask.set()

    def hear(self, probe: ProbeKind, sample: Sample) -> None:
        self._put(probe, sample.item.key, sample.item.rep)

    def hold(self, probe: ProbeKind, conversation: Conversation) -> None:
        if probe not in self._judged:
            self._jobs.put_nowait(partial(self._hold, probe, conversation))

    def _put(self, probe: ProbeKind, key: str, rep: int) -> None:
        item = self._wanted.pop((probe, key, rep), None)
        if item is not None:
            self._jobs.put_nowait(partial(self._item, probe, item))

    def _left_s(self) -> float | None:
        timeout = None if self._manner is None else self._manner.limits.timeout
        of_all = None if timeout is None else max(0.0, self._began + timeout - clock.monotonic())
        return min((left for left in (of_all, self._within_s) if left is not None), default=None)

    @property
    def _width(self) -> int:
        return self._target.max_concurrency

    async def _ask(self, manner: Manner) -> None:
        target = self._target
        pace = Counted(manner.pace or Pace(target.rpm, SystemClock()), manner.limits.budget.requests)
        try:
            async with Client(target, self._capabilities, pace=pace) as client:
                try:
                    await client.converse([self._work] * self._width, on_sample=partial(self._count, manner))
                finally:
                    self.charge += charge_of_unanswered(client.cancelled, manner.limits.sizes)
        except BudgetReachedError:
            self.why_not = "its part of the budget is spent"
        except ProbeError as error:
            self.why_not = f"it could not be asked ({error.code})"

    async def _work(self, ask: Ask) -> None:
        while (job := await self._jobs.get()) is not None:
            await self._may_ask.wait()
            await job(ask)

    async def _item(self, probe: ProbeKind, item: Item, ask: Ask) -> None:
        self._answers[probe].append(await ask(item))

    async def _hold(self, probe: ProbeKind, conversation: Conversation, ask: Ask) -> None:
        async def kept(item: Item) -> Sample:
            await self._may_ask.wait()
            sample = await ask(item)
            self._answers[probe].append(sample)
            return sample

        await hold(kept, conversation.begin())

    def _count(self, manner: Manner, sample: Sample) -> None:
        self.requests += len(sample.attempts)
        self.charge += charge_of([sample], manner.limits.sizes)
        self._progress.step(f"reference: {self.reference.name}")
        if manner.limits.reached(self.charge):
            raise BudgetReachedError


async def _nothing() -> None:
    """It is not asked."""
