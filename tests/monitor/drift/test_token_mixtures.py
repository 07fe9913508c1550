from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulated.fleets import routed_tokens
from monitor.drift.evidence import Inapplicable
from monitor.drift.token_mixtures import TokenMixture, token_mixture


def found(share: float, seed: int = 0, visits: int = 100) -> tuple[TokenMixture, np.ndarray]:
    given, block, stack = routed_tokens(np.random.default_rng(seed), share, visits)
    one = token_mixture(given, block)
    assert isinstance(one, TokenMixture)
    return one, stack


@pytest.mark.parametrize("share", [0.5, 0.3, 0.1])
def test_two_stacks_are_found_with_their_shares_and_their_visits(share: float) -> None:
    one, stack = found(share)
    assert one.p <= 0.001
    assert one.stacks[1].interval.low <= share <= one.stacks[1].interval.high
    assert one.stacks[1].share == pytest.approx(min(stack.mean(), 1 - stack.mean()), abs=0.06)
    own = np.argmax(one.of, axis=1) == stack
    assert max(own.mean(), 1.0 - own.mean()) > 0.9


def test_p_is_no_smaller_than_it_says_while_days_differ() -> None:
    p = np.array([found(0.0, seed)[0].p for seed in range(40)])
    for level in (0.05, 0.2, 0.5):
        assert np.mean(p <= level) <= level + 3.0 * np.sqrt(level * (1.0 - level) / p.size)
    assert p.min() > 0.001


def test_a_change_from_one_day_to_the_next_is_no_mixture() -> None:
    """Every token turns at once: what hangs together over days and not within them."""
    rng = np.random.default_rng(0)
    given, block, _ = routed_tokens(rng, 0.0, 100)
    swap = {b"a": b"b", b"b": b"a"}
    turned = [
        {prompt: swap[token] for prompt, token in visit.items()} if day >= 3 else visit
        for visit, day in zip(given, block, strict=True)
    ]
    one = token_mixture(turned, block)
    assert isinstance(one, TokenMixture)
    assert one.p > 0.01
    assert len(one.stacks) == 1
    assert one.stacks[0].interval.low > 0.95
    mixed = token_mixture(turned, np.zeros(100, dtype=np.int64))
    assert isinstance(mixed, TokenMixture)
    assert mixed.p <= 0.001


def test_prompts_that_some_visits_lack_are_used() -> None:
    rng = np.random.default_rng(2)
    given, block, _ = routed_tokens(rng, 0.4, 120)
    cut = [{prompt: token for prompt, token in visit.items() if rng.random() < 0.7} for visit in given]
    one = token_mixture(cut, block)
    assert isinstance(one, TokenMixture)
    assert one.stacks[1].interval.low <= 0.4 <= one.stacks[1].interval.high


def test_tokens_that_never_differ_are_one_stack() -> None:
    one = token_mixture([{f"p{k}": b"a" for k in range(6)}] * 30, np.zeros(30, dtype=np.int64))
    assert isinstance(one, TokenMixture)
    assert one.p == 1.0


def test_visits_of_single_prompts_are_inapplicable() -> None:
    one = token_mixture([{f"p{v % 6}": b"a"} for v in range(100)], np.zeros(100, dtype=np.int64))
    assert isinstance(one, Inapplicable)
    assert "4 prompts" in one.reason


def test_blocks_are_those_of_the_visits() -> None:
    with pytest.raises(ValueError, match="block"):
        token_mixture([{"p": b"a"}], np.zeros(2, dtype=np.int64))
