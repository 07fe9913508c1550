"""Prompts of random tokens: the same for every engine in a round, and none of them twice."""

from __future__ import annotations

import random


class Prompts:
    """Nothing is repeated, so that no engine finds in a cache what it is to compute."""

    def __init__(self, seed: int, vocabulary: int) -> None:
        self._random = random.Random(seed)
        # Special tokens stand at either end of a vocabulary.
        self._tokens = range(vocabulary // 10, vocabulary - vocabulary // 10)

    def fresh(self, count: int, length: int) -> list[list[int]]:
        return [self._random.choices(self._tokens, k=length) for _ in range(count)]

    def sharing(self, count: int, shared: int, own: int) -> list[list[int]]:
        """Prompts that begin with the same `shared` tokens."""
        (beginning,) = self.fresh(1, shared)
        return [beginning + rest for rest in self.fresh(count, own)]

    def repetitive(self, length: int, period: int) -> list[int]:
        """The same few tokens again and again."""
        (phrase,) = self.fresh(1, period)
        return (phrase * (length // period + 1))[:length]
