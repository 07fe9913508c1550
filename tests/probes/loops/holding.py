"""Loops held by a client, as a check holds them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from probes.client import Client, OnSample
from probes.conversation import hold
from probes.loops.loop import Loop, Settings
from probes.loops.plan import PlannedLoop
from probes.loops.runs import LoopRun, runs_of
from probes.plan import Sample


async def run_loops(
    client: Client, loops: Sequence[Loop], settings: Settings, *, on_sample: OnSample | None = None
) -> list[LoopRun]:
    """What came of the loops, in their order."""
    planned = [PlannedLoop(loop, settings, ()) for loop in loops]
    samples: list[Sample] = []

    def keep(sample: Sample) -> None:
        samples.append(sample)
        if on_sample is not None:
            on_sample(sample)

    await client.converse([partial(hold, talk=one.begin()) for one in planned], on_sample=keep)
    return runs_of(planned, samples)
