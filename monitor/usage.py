"""What an endpoint says that it used, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from monitor.config import Prices
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

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Tokens:
        """Of all answers, by the endpoint's own usage: what is reported, as `check.charge` is what it may cost."""
        usages = [s.completion.usage for s in samples if s.completion is not None and s.completion.usage is not None]
        return cls(
            sum(claimed_count(usage.prompt_tokens) or 0 for usage in usages),
            sum(claimed_count(usage.completion_tokens) or 0 for usage in usages),
        )

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
