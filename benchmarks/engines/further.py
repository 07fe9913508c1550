"""What the second table holds: measurements of our own engine alone."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
import math
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.engines.job import Job
from benchmarks.engines.measure import figure, rate, warm_up
from benchmarks.engines.prompts import Prompts

if TYPE_CHECKING:
    from benchmarks.engines.ours import Ours

OpenOurs = Callable[[Job], "Ours"]
_PERIOD = 16


def prefix_reuse(open_ours: OpenOurs, job: Job) -> dict[str, float]:
    """Seconds to score the own tokens of many prompts that begin alike, and of as many that do not.

    Of those that begin alike one goes first, so that the others can find its beginning; it counts.
    """
    sizes = job.sizes
    with closing(open_ours(job)) as engine:
        prompts = Prompts(job.seed, engine.vocabulary)
        engine.score_after(prompts.fresh(2, sizes.own), 0, sizes.top_k)
        cold = prompts.fresh(sizes.sharing, sizes.shared + sizes.own)
        alike = prompts.sharing(sizes.sharing, sizes.shared, sizes.own)
        return {
            "cold": _seconds(engine, [cold], sizes.shared, sizes.top_k),
            "shared": _seconds(engine, [alike[:1], alike[1:]], sizes.shared, sizes.top_k),
        }


def _seconds(engine: Ours, groups: list[list[list[int]]], start: int, top_k: int) -> float:
    begun = time.perf_counter()
    for prompts in groups:
        engine.score_after(prompts, start, top_k)
    return time.perf_counter() - begun


def repetitive(open_ours: OpenOurs, job: Job) -> dict[str, Any]:
    """Tokens per second of answers to repetitive prompts, one at a time, and a digest of the answers' numbers."""
    sizes = job.sizes
    with closing(open_ours(job)) as engine:
        prompts = Prompts(job.seed, engine.vocabulary)
        warm_up, *texts = [prompts.repetitive(sizes.prompt, _PERIOD) for _ in range(1 + sizes.repeats)]
        engine.generate([warm_up], 4)
        rates = [rate(engine.generate([text], sizes.repetitive)) for text in texts]
        return {"rate": median(rates), "digest": _digest(engine, texts, sizes.repetitive)}


def _digest(engine: Ours, texts: list[list[int]], new: int) -> str:
    numbers = [engine.logprobs([text], new) for text in texts]
    return hashlib.sha256(json.dumps(numbers).encode()).hexdigest()


def exactness(open_ours: OpenOurs, job: Job) -> dict[str, float]:
    """The exact engine's rate over that of an engine that need not be exact, in each cell of the job.

    Both are measured in turn, a few times: what else the machine does in the meantime falls on both.
    """
    careless = replace(job, options={**job.options, "exact": False})
    sizes = replace(job.sizes, prompt=job.sizes.prompt // 4, scored=max(job.sizes.scored // 4, 1), repeats=1)
    with closing(open_ours(job)) as exact, closing(open_ours(careless)) as inexact:
        prompts = Prompts(job.seed, exact.vocabulary)
        for engine in (exact, inexact):
            warm_up(engine, prompts, sizes)

        def share(cell: str) -> float:
            ours, theirs = (figure(engine, prompts, sizes, cell) for engine in (exact, inexact))
            return (ours or math.nan) / (theirs or math.nan)

        return {cell: median(share(cell) for _ in range(job.sizes.repeats)) for cell in job.cells}


def memory(_: OpenOurs, job: Job) -> dict[str, int]:
    """Bytes of the weights alone: by how much loading them made the process grow, what the engine counts, and what
    their numbers would take in float32.

    Pages of the model file itself do not make the process grow: the system can let them go.
    """
    from benchmarks.engines.ours import float32_bytes, load_weights

    before = _own_bytes()
    loaded = load_weights(job)
    return {"grown": _own_bytes() - before, "counted": loaded.weight_bytes, "float32": float32_bytes(job)}


def _own_bytes() -> int:
    gc.collect()
    # What loading freed would count as held.
    ctypes.CDLL(None).malloc_trim(0)
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
