"""What a check may use at most: US dollars, requests, tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from monitor.config import Prices
from monitor.errors import UsageError
from monitor.usage import Tokens

_OPTIONS = {
    "usd": ("--max-cost", "US dollars, such as 0.01"),
    "requests": ("--max-requests", "a number of requests"),
    "tokens": ("--max-tokens", "a number of tokens"),
}


@dataclass(frozen=True, slots=True)
class Use:
    """What is used of a limit; `words` say how much, as of one that is passed."""

    used: float
    limit: float
    words: str

    @property
    def share(self) -> float:
        """The part of it that the limit allows; 1 and more: all."""
        return self.limit / self.used if self.used else float("inf")


@dataclass(frozen=True, slots=True)
class Spend:
    """What somebody is expected to spend; `usd` is 0 where nobody knows."""

    requests: int
    tokens: int
    usd: float

    def __add__(self, other: Spend) -> Spend:
        return Spend(self.requests + other.requests, self.tokens + other.tokens, self.usd + other.usd)


@dataclass(frozen=True, slots=True)
class Budget:
    """`usd` by the endpoint's prices; `requests` counts every try; `tokens` are those of prompts and answers together.
    None: no limit. Raises UsageError for what cannot be meant."""

    usd: float | None = None
    requests: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if given is not None and not given > 0:
                option, wanted = _OPTIONS[field.name]
                raise UsageError(f"{option} {given} is not above 0.", remedy=f"Give {wanted}.")

    def most_used(self, requests: int, tokens: Tokens, prices: Prices | None) -> Use | None:
        """The limit that so many requests and tokens come nearest to, or go beyond furthest; None without any."""
        return self.most_used_of(requests, tokens.total, tokens.usd(prices))

    def most_used_of(self, requests: int, tokens: int, usd: float | None) -> Use | None:
        """The same of what is counted already."""
        return min(self._uses(requests, tokens, usd), key=lambda use: use.share, default=None)

    def part(self, ours: Spend, other: Spend) -> Budget:
        """What of it is for `ours`, where `other` has the rest: by what each is expected to spend."""
        whole = ours + other
        requests = self.requests and max(1, int(self.requests * _share(ours.requests, whole.requests)))
        tokens = self.tokens and max(1, int(self.tokens * _share(ours.tokens, whole.tokens)))
        # What costs nothing needs no limit in dollars.
        usd = (self.usd or 0.0) * _share(ours.usd, whole.usd)
        return Budget(usd or None, requests, tokens)

    def _uses(self, requests: int, tokens: int, usd: float | None) -> Iterator[Use]:
        if self.usd is not None and usd is not None:
            yield Use(usd, self.usd, f"${usd:.6f}, more than --max-cost {self.usd:g}")
        if self.requests is not None:
            yield Use(requests, self.requests, f"{requests} requests, more than --max-requests {self.requests}")
        if self.tokens is not None:
            yield Use(tokens, self.tokens, f"{tokens} tokens, more than --max-tokens {self.tokens}")


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0
