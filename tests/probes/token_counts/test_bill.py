"""Whole micro-dollars, rounded once."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.token_counts.bill import Bill, Charge, Price, bill

PRICE = Price.of(0.15, "0.60")
tokens = st.integers(0, 10**9)
prices = st.decimals(0, 1000, places=4)


def test_a_dollar_for_a_million_tokens_is_a_micro_dollar_for_one() -> None:
    assert Price.of(1.0, 4.0).microusd(35, 100) == 435
    assert PRICE.microusd(1_000_000, 0) == 150_000


@pytest.mark.parametrize(("prompt", "microusd"), [(1, 0), (3, 0), (10, 2), (30, 4), (50, 8)])
def test_half_a_micro_dollar_goes_to_the_even_one(prompt: int, microusd: int) -> None:
    assert PRICE.microusd(prompt, 0) == microusd


@settings(max_examples=30)
@given(tokens, tokens, prices, prices)
def test_the_sum_is_exact_but_for_one_rounding(prompt: int, completion: int, cost: Decimal, more: Decimal) -> None:
    exact = prompt * Fraction(cost) + completion * Fraction(more)

    assert abs(Price(cost, more).microusd(prompt, completion) - exact) <= Fraction(1, 2)


def test_a_bill_counts_what_was_reported_and_what_was_beyond_the_due() -> None:
    charges = [
        Charge(100, 50, prompt_due=90, completion_due=50),
        Charge(100, 50, prompt_due=120, completion_due=20),
        Charge(100, 50),
    ]

    assert bill(charges, Price.of(1, 10)) == Bill(
        requests=3,
        prompt_tokens=300,
        completion_tokens=150,
        microusd=1800,
        overcharged_microusd=10 + 300,
        prompts_known=2,
        completions_known=2,
    )


def test_a_bill_of_nothing_is_nothing() -> None:
    assert bill([], PRICE) == Bill(0, 0, 0, 0, 0, 0, 0)
