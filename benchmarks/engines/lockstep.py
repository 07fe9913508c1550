"""Peers without a scheduler: all prompts of a batch take each step together."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from benchmarks.engines.rows import Rows, numbers
from benchmarks.engines.subject import Generated, Prompt

_TOP = 20


class Lockstep(ABC):
    """Prompts of one batch have one length."""

    @abstractmethod
    def steps(self, prompts: Sequence[Prompt], new: int, known: int = 0) -> Iterator[Rows]:
        """Logits [prompts, vocabulary] of each of `new` tokens, each the likeliest after the one before.

        The first `known` tokens of the prompts are run by themselves. A row holds until the next step.
        """

    def generate(self, prompts: Sequence[Prompt], new: int) -> Generated:
        start = time.perf_counter()
        times = [time.perf_counter() for _ in self.steps(prompts, new)]
        return Generated(start, [times] * len(prompts))

    def logprobs(self, prompts: Sequence[Prompt], new: int) -> list[list[float]]:
        return self._numbers(prompts, new, 0)

    def logprobs_after(self, prompt: Prompt, known: int, new: int) -> list[float]:
        (found,) = self._numbers([prompt], new, known)
        return found

    def _numbers(self, prompts: Sequence[Prompt], new: int, known: int) -> list[list[float]]:
        found: list[list[float]] = [[] for _ in prompts]
        for rows in self.steps(prompts, new, known):
            for row, of_prompt in zip(rows, found, strict=True):
                of_prompt += numbers(row, _TOP)
        return found
