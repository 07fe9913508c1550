"""Sends a check's plans and keeps every sample, whatever ends the sending: a limit, the provider, or the user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from monitor.check.options import Progress
from monitor.check.plans import cost_usd
from monitor.config import Prices
from probes.capabilities import Capabilities
from probes.client import Client
from probes.errors import ProbeError
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
    """What came of a check's plans. `error` is what the caller has to raise once the samples are safe."""

    capabilities: Capabilities
    samples: dict[ProbeKind, list[Sample]] = field(default_factory=dict)
    stop: Stop | None = None
    error: ProbeError | KeyboardInterrupt | None = None

    @property
    def all_samples(self) -> list[Sample]:
        return [sample for samples in self.samples.values() for sample in samples]


class _BudgetReachedError(Exception):
    """The money is spent: nothing more may be sent."""


@dataclass(frozen=True, slots=True)
class Limits:
    """timeout: seconds for all sending; max_cost: US dollars by `prices`; None: no limit."""

    timeout: float | None
    max_cost: float | None
    prices: Prices | None


def ask(
    target: Target,
    known: Mapping[str, Any],
    plans: Sequence[Plan],
    limits: Limits,
    *,
    keep: Callable[[ProbeKind, Sample], None],
    progress: Progress,
) -> Asked:
    """Send the plans one after the other. `keep` is called with each sample as it is done."""
    asked = Asked(Capabilities.from_dict(known))
    try:
        asyncio.run(_ask(target, plans, limits, asked, keep, progress))
    except KeyboardInterrupt as interrupt:
        asked.stop, asked.error = Stop.INTERRUPTED, interrupt
    except TimeoutError:
        asked.stop = Stop.TIMEOUT
    except _BudgetReachedError:
        asked.stop = Stop.BUDGET
    except ProbeError as error:
        asked.stop, asked.error = Stop.PROVIDER, error
    return asked


async def _ask(
    target: Target,
    plans: Sequence[Plan],
    limits: Limits,
    asked: Asked,
    keep: Callable[[ProbeKind, Sample], None],
    progress: Progress,
) -> None:
    async with asyncio.timeout(limits.timeout), Client(target, asked.capabilities) as client:
        for plan in plans:
            done = asked.samples.setdefault(plan.probe, [])

            def on_sample(sample: Sample, done: list[Sample] = done, probe: ProbeKind = plan.probe) -> None:
                done.append(sample)
                keep(probe, sample)
                progress.step(f"asking: {probe.value}")
                asked.capabilities = client.capabilities
                if _spent(asked.all_samples, limits.prices) >= (limits.max_cost or float("inf")):
                    raise _BudgetReachedError

            await client.send(plan, on_sample=on_sample)


def _spent(samples: Sequence[Sample], prices: Prices | None) -> float:
    tokens_in, tokens_out = token_counts(samples)
    return cost_usd(tokens_in, tokens_out, prices) or 0.0


def token_counts(samples: Sequence[Sample]) -> tuple[int, int]:
    """Prompt and completion tokens by the endpoint's own usage."""
    usages = [s.completion.usage for s in samples if s.completion is not None and s.completion.usage is not None]
    return (
        sum(usage.prompt_tokens or 0 for usage in usages),
        sum(usage.completion_tokens or 0 for usage in usages),
    )
