"""What a run's tokens cost by the price table, as reported and as they should have been: whole micro-dollars."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens, which is micro-dollars for one token."""

    input: Decimal
    output: Decimal

    @classmethod
    def of(cls, input_usd_per_mtok: float | str, output_usd_per_mtok: float | str) -> Price:
        """By the shortest decimal that a price given as a float stands for: 0.1 is a tenth."""
        return cls(Decimal(str(input_usd_per_mtok)), Decimal(str(output_usd_per_mtok)))

    def microusd(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Rounded once, to the nearest and to the even one of two."""
        exact = prompt_tokens * self.input + completion_tokens * self.output
        return int(exact.to_integral_value(ROUND_HALF_EVEN))


@dataclass(frozen=True, slots=True)
class Charge:
    """The tokens of one request. What was due is the most that can have been, None where that is not known."""

    prompt_tokens: int
    completion_tokens: int
    prompt_due: int | None = None
    completion_due: int | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """`microusd` is for all that was reported. `overcharged_microusd` is for the tokens that were reported beyond what
    was due, each way counted where it is known: of `prompts_known` and `completions_known` requests."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    microusd: int
    overcharged_microusd: int
    prompts_known: int
    completions_known: int


def bill(charges: Iterable[Charge], price: Price) -> Bill:
    """The sums, rounded once each. A token too few in one request makes up for none too many in another."""
    entries = list(charges)
    prompts = [(one.prompt_tokens, one.prompt_due) for one in entries if one.prompt_due is not None]
    completions = [(one.completion_tokens, one.completion_due) for one in entries if one.completion_due is not None]
    prompt_tokens, completion_tokens = (
        sum(one.prompt_tokens for one in entries),
        sum(one.completion_tokens for one in entries),
    )
    return Bill(
        requests=len(entries),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        microusd=price.microusd(prompt_tokens, completion_tokens),
        overcharged_microusd=price.microusd(_beyond(prompts), _beyond(completions)),
        prompts_known=len(prompts),
        completions_known=len(completions),
    )


def _beyond(counts: Iterable[tuple[int, int]]) -> int:
    return sum(max(0, reported - due) for reported, due in counts)
