"""Runs free loops against an endpoint, side by side, each turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from probes.client import Ask, Client, OnSample
from probes.loops.loop import Loop, Settings
from probes.loops.result import LoopResult
from probes.loops.running import RunningLoop
from probes.plan import Sample


@dataclass(frozen=True, slots=True)
class LoopRun:
    """One loop with its samples in the order of its turns; each holds the whole request it was asked with."""

    loop: Loop
    result: LoopResult
    samples: tuple[Sample, ...]


OnRun = Callable[[LoopRun], None]


async def run_loops(
    client: Client,
    loops: Sequence[Loop],
    settings: Settings,
    *,
    on_sample: OnSample | None = None,
    on_run: OnRun | None = None,
) -> list[LoopRun]:
    """Run every loop to its end; the runs come in the loops' order.

    `on_sample` is called with each sample and `on_run` with each loop as it is done, so that what is done is not lost
    where a budget ends the others: what either raises ends them all. Raises a ProbeError once the provider plainly
    cannot be used.
    """
    conversations = [partial(_run, loop=loop, settings=settings, on_run=on_run) for loop in loops]
    return await client.converse(conversations, on_sample=on_sample)


async def _run(ask: Ask, *, loop: Loop, settings: Settings, on_run: OnRun | None) -> LoopRun:
    running, samples = RunningLoop(loop, settings), []
    while running.stop is None:
        sample = await ask(running.item)
        running.take(sample)
        samples.append(sample)
    run = LoopRun(loop, running.result, tuple(samples))
    if on_run is not None:
        on_run(run)
    return run
