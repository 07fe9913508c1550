"""What an endpoint says that it used, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from monitor.config import Prices
from probes.completion import Completion
from probes.plan import Sample

_IMPOSSIBLE_COUNT = 2**31


def claimed_count(count: int | None) -> int | None:
    """A token count as the endpoint claims it; what no endpoint can mean is not known."""
    return count if count is not None and 0 <= count < _IMPOSSIBLE_COUNT else None


@dataclass(frozen=True, slots=True)
class Tokens:
    """Prompt and completion tokens."""

    prompt: int = 0
    completion: int = 0

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.prompt + other.prompt, self.completion + other.completion)

    def usd(self, prices: Prices | None) -> float | None:
        """None without prices."""
        if prices is None:
            return None
        return (self.prompt * prices.input_usd_per_mtok + self.completion * prices.output_usd_per_mtok) / 1e6

    def microusd(self, prices: Prices | None) -> int | None:
        usd = self.usd(prices)
        return None if usd is None else round(usd * 1e6)


@dataclass(frozen=True, slots=True)
class Reported:
    """What an endpoint says that its answers used, as `check.charge` is what they may cost: `told` adds up what it said
    of so many `prompts` and `completions` of the `answers`."""

    told: Tokens = Tokens()
    answers: int = 0
    prompts: int = 0
    completions: int = 0

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Reported:
        return sum((_reported(one.completion) for one in samples if one.completion is not None), cls())

    @property
    def prompt(self) -> int | None:
        """None where nothing is told of any answer: that is not known, and not nothing."""
        return self.told.prompt if self.prompts or not self.answers else None

    @property
    def completion(self) -> int | None:
        return self.told.completion if self.completions or not self.answers else None

    @property
    def total(self) -> int | None:
        return None if self.prompt is None or self.completion is None else self.told.total

    @property
    def untold(self) -> int:
        """Answers that are missing in one of the two sums: these are lower bounds then."""
        return self.answers - min(self.prompts, self.completions)

    def usd(self, prices: Prices | None) -> float | None:
        """At least so much, where some answers are missing."""
        return None if self.total is None else self.told.usd(prices)

    def microusd(self, prices: Prices | None) -> int | None:
        return None if self.total is None else self.told.microusd(prices)

    def __add__(self, other: Reported) -> Reported:
        return Reported(
            self.told + other.told,
            self.answers + other.answers,
            self.prompts + other.prompts,
            self.completions + other.completions,
        )


def _reported(completion: Completion) -> Reported:
    usage = completion.usage
    # A refusal has nothing to count.
    if usage is None and completion.http_status >= 400:
        return Reported()
    prompt = None if usage is None else claimed_count(usage.prompt_tokens)
    completed = None if usage is None else claimed_count(usage.completion_tokens)
    return Reported(Tokens(prompt or 0, completed or 0), 1, int(prompt is not None), int(completed is not None))
