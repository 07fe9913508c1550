"""Token counts are what an endpoint can mean, and money follows from them."""

from __future__ import annotations

import pytest

from monitor.config import Prices
from monitor.usage import Tokens, claimed_count


@pytest.mark.parametrize(
    ("claimed", "known"), [(None, None), (0, 0), (2**31 - 1, 2**31 - 1), (2**31, None), (10**30, None), (-1, None)]
)
def test_a_count_that_no_endpoint_can_mean_is_not_known(claimed: int | None, known: int | None) -> None:
    assert claimed_count(claimed) == known


def test_tokens_cost_what_the_prices_say() -> None:
    prices = Prices(input_usd_per_mtok=1.0, output_usd_per_mtok=4.0)
    tokens = Tokens(100, 10) + Tokens(20, 5)

    assert (tokens.total, tokens.usd(prices), tokens.microusd(prices)) == (135, 180e-6, 180)
    assert (tokens.usd(None), tokens.microusd(None)) == (None, None)
