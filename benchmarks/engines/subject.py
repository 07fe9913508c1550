"""What every engine under measurement can be asked, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Prompt = Sequence[int]


class NotOfferedError(Exception):
    """The engine has no such thing."""


@dataclass(frozen=True)
class Generated:
    """Times on one clock: when the prompts were handed in, and when each token of each answer was there."""

    start: float
    tokens: list[list[float]]


class Subject(Protocol):
    """An engine with its model loaded. Generation is greedy and does not stop at the end of a sequence."""

    vocabulary: int

    def about(self) -> Mapping[str, str]:
        """Versions, and what else tells two figures apart."""
        ...

    def generate(self, prompts: Sequence[Prompt], new: int) -> Generated:
        """Answers all prompts at once."""
        ...

    def score(self, prompts: Sequence[Prompt], top_k: int) -> None:
        """Works out, at every position, the log-probability of the token there and the `top_k` most likely.

        Raises NotOfferedError.
        """
        ...

    def logprobs(self, prompts: Sequence[Prompt], new: int) -> list[list[float]]:
        """For each prompt, all that the engine says of its answer's tokens, the prompts run at once."""
        ...

    def logprobs_after(self, prompt: Prompt, known: int, new: int) -> list[float]:
        """The same for one prompt whose first `known` tokens were run before, and are not run again."""
        ...

    def close(self) -> None: ...
