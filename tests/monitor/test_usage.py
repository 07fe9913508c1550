"""Token counts are what an endpoint can mean, and money follows from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.config import Prices
from monitor.usage import Reported, Tokens, claimed_count
from probes.completion import Completion, Usage
from probes.plan import Outcome
from probes.quirks import Disposition
from tests.monitor.store.material import sample

PRICES = Prices(input_usd_per_mtok=1.0, output_usd_per_mtok=4.0)


@pytest.mark.parametrize(
    ("claimed", "known"), [(None, None), (0, 0), (2**31 - 1, 2**31 - 1), (2**31, None), (10**30, None), (-1, None)]
)
def test_a_count_that_no_endpoint_can_mean_is_not_known(claimed: int | None, known: int | None) -> None:
    assert claimed_count(claimed) == known


def test_tokens_cost_what_the_prices_say() -> None:
    tokens = Tokens(100, 10) + Tokens(20, 5)

    assert (tokens.total, tokens.usd(PRICES), tokens.microusd(PRICES)) == (135, 180e-6, 180)
    assert (tokens.usd(None), tokens.microusd(None)) == (None, None)


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ([], (0, 0, 0, 0)),
        ([(7, 5), (1, 0)], (8, 5, 13, 0)),
        ([(7, 5), (None, None)], (7, 5, 12, 1)),
        ([(None, None), (None, None)], (None, None, None, 2)),
        ([(7, None), (1, 2**40)], (8, None, None, 2)),
    ],
)
def test_what_an_endpoint_does_not_tell_is_not_known_and_not_nothing(
    counts: list[tuple[int | None, int | None]], told: tuple[int | None, ...]
) -> None:
    completions = [
        Completion(Disposition.ACCEPT, (), 200, usage=None if prompt is None else Usage(prompt, completion))
        for prompt, completion in counts
    ]
    answered = [replace(sample("a"), completion=completion) for completion in completions]

    refused = replace(sample("b", outcome=Outcome.REFUSED), completion=Completion(Disposition.ERROR, (), 400))
    found = Reported.of([*answered, refused, sample("c", outcome=Outcome.TIMEOUT)])

    assert (found.prompt, found.completion, found.total, found.untold) == told
    assert (found.usd(PRICES) is None) == (found.total is None)
