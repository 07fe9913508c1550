"""An engine without a model, for tests of what measures engines; its options say how it behaves."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from benchmarks.engines.job import Job
from benchmarks.engines.subject import Generated, NotOfferedError, Prompt


class FakeEngine:
    """It says that a step took 100 ms, and a prompt 10 ms a token; no time passes."""

    vocabulary = 1000

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def about(self) -> Mapping[str, str]:
        return {"fake": "1.0"}

    def generate(self, prompts: Sequence[Prompt], new: int) -> Generated:
        start = time.perf_counter()
        first = start + len(prompts[0]) / 100
        return Generated(start, [[first + at / 10 for at in range(new)] for _ in prompts])

    def score(self, prompts: Sequence[Prompt], top_k: int) -> None:
        if "no_scoring" in self._options:
            raise NotOfferedError("it does not score")

    def logprobs(self, prompts: Sequence[Prompt], new: int) -> list[list[float]]:
        wavering = len(prompts) * 1e-9 if "wavers" in self._options else 0.0
        return [[-float(sum(prompt)) - wavering] * new for prompt in prompts]

    def logprobs_after(self, prompt: Prompt, known: int, new: int) -> list[float]:
        return self.logprobs([prompt], new)[0]

    def close(self) -> None: ...


def open_subject(job: Job) -> FakeEngine:
    sys.stdout.write("a library that talks\n")
    if "missing" in job.options:
        raise ModuleNotFoundError(name=job.options["missing"])
    if "breaks" in job.options:
        raise RuntimeError(job.options["breaks"])
    return FakeEngine(job.options)
