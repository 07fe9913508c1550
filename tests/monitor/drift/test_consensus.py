from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulated.fleets import provided
from monitor.drift.consensus import Consensus, of_draws, of_logprobs, rank_sums
from monitor.drift.evidence import Combining, ExactP, Inapplicable, StreamKey, Tier

BF16, INT8, FP8 = 0.045, 0.071, 0.154
KEY = StreamKey("e", Tier.LOGPROBS, "1")
World = dict[str, dict[str, list[dict[bytes, float]]]]


def world(shifts: Sequence[Sequence[float]], seed: int = 0, prompts: int = 20, rounding: float = BF16) -> World:
    return provided(np.random.default_rng(seed), shifts, rounding, prompts=prompts)


def cut(given: World, alternatives: Mapping[str, int]) -> World:
    """Each answer of these providers with its most likely tokens alone."""
    return {
        provider: {
            prompt: [
                dict(sorted(one.items(), key=lambda pair: -pair[1])[: alternatives.get(provider, 20)]) for one in a
            ]
            for prompt, a in prompts.items()
        }
        for provider, prompts in given.items()
    }


def judged(given: World) -> Consensus:
    found = of_logprobs(given)
    assert isinstance(found, Consensus)
    return found


def test_providers_that_round_otherwise_are_seldom_named() -> None:
    assert sum(bool(judged(world([[]] * 5, seed)).differing) for seed in range(60)) <= 3


@settings(max_examples=20, deadline=None)
@given(st.integers(4, 9), st.integers(1, 30), st.integers(0, 99))
def test_no_rank_sum_is_smaller_than_chance_makes_it(m: int, prompts: int, seed: int) -> None:
    """Providers that might change places on every prompt: p is at most u with a chance of at most u."""
    rng = np.random.default_rng(seed)
    p = np.array([rank_sums(rng.exponential(1.0, (prompts, m))) for _ in range(100)])
    for level in (0.05, 0.25):
        assert np.mean(p <= level) <= level + 4.0 * np.sqrt(level * (1.0 - level) / 100)


def test_rank_sums_count_no_equal_distance_and_none_within_the_tolerance() -> None:
    assert rank_sums(np.zeros((10, 5))) == pytest.approx([1.0] * 5)
    within, beyond = np.ones((10, 5)), np.ones((10, 5))
    within[:, 2], beyond[:, 2] = 1.49, 1.51
    assert rank_sums(within)[2] == pytest.approx(1.0)
    assert rank_sums(beyond)[2] == pytest.approx(5.0**-10, rel=1e-3)


def test_the_provider_with_other_weights_differs_from_the_others() -> None:
    found = judged(world([[], [], [FP8], [], []]))
    assert found.differing == ("provider 2",)
    one = found.placed[2]
    assert one.distance == pytest.approx(0.16, abs=0.02)
    assert one.ratio > 2.5
    assert str(found).startswith("provider 2 differs from the others by 0.1")


def test_int8_weights_are_seen_where_the_others_round_alike_and_lie_within_the_tolerance_where_not() -> None:
    shifts = [[INT8], [], [], [], []]
    for rounding, least, most in ((0.02, 9, 10), (BF16, 0, 1)):
        named = [judged(world(shifts, seed, rounding=rounding)).differing for seed in range(10)]
        assert least <= named.count(("provider 0",)) <= most


def test_where_most_run_fp8_the_honest_provider_is_the_one_that_differs_and_is_not_called_wrong() -> None:
    found = judged(world([[], [FP8], [FP8], [FP8], [FP8]]))
    assert found.differing == ("provider 0",)
    text = str(found)
    assert "differs from the others" in text
    assert not {"wrong", "fraud", "fault", "incorrect", "bad"} & set(text.lower().split())


@pytest.mark.parametrize(("fp8", "bf16"), [(2, 2), (2, 3), (3, 3), (3, 6)])
def test_in_two_camps_of_similar_size_nobody_is_named(fp8: int, bf16: int) -> None:
    found = judged(world([[FP8]] * fp8 + [[]] * bf16))
    assert found.differing == ()
    assert found.camps is not None
    assert found.camps.p <= 0.01
    assert {f"provider {place}" for place in range(fp8)} in [set(camp) for camp in found.camps.members]
    assert "two camps" in str(found)
    assert isinstance(found.evidence(KEY, "provider 0", 1.0).says, Inapplicable)


def test_two_of_nine_that_differ_alike_are_named_both() -> None:
    found = judged(world([[FP8], [FP8]] + [[]] * 7))
    assert found.differing == ("provider 0", "provider 1")
    assert found.camps is None


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(5)), st.integers(0, 3))
def test_who_is_named_does_not_hang_on_the_names(order: list[int], seed: int) -> None:
    given = world([[INT8], [], [FP8], [], []], seed, rounding=0.02)
    names = sorted(given)
    renamed = {names[to]: given[name] for name, to in zip(names, order, strict=True)}
    before, after = judged(given), judged(renamed)
    assert {names[order[names.index(name)]] for name in before.differing} == set(after.differing)
    moved = {one.provider: one for one in after.placed}
    for one in before.placed:
        other = moved[names[order[names.index(one.provider)]]]
        assert (other.distance, other.ratio, other.p) == pytest.approx((one.distance, one.ratio, one.p))


def test_a_provider_with_five_alternatives_is_compared_on_them() -> None:
    given = cut(world([[], [], [FP8], [], []]), {"provider 1": 5})
    found = judged(given)
    assert found.differing == ("provider 2",)
    assert found.left_out == {}
    assert not judged(cut(world([[]] * 5), {"provider 1": 5, "provider 3": 8})).differing


def test_a_provider_that_lists_too_little_is_left_out_with_the_reason() -> None:
    found = judged(cut(world([[], [], [FP8], [], []]), {"provider 1": 1}))
    assert list(found.left_out) == ["provider 1"]
    assert "8 are needed" in found.left_out["provider 1"]
    assert found.differing == ("provider 2",)
    assert isinstance(found.evidence(KEY, "provider 1", 1.0).says, Inapplicable)


def test_fewer_than_four_providers_are_inapplicable() -> None:
    three = of_logprobs(world([[]] * 3))
    assert isinstance(three, Inapplicable)
    assert "4 providers" in three.reason
    left = of_logprobs(cut(world([[]] * 4), {"provider 0": 1}))
    assert isinstance(left, Inapplicable)
    assert "provider 0" in left.reason
    assert isinstance(of_logprobs({}), Inapplicable)
    assert isinstance(of_logprobs(world([[]] * 5, prompts=7)), Inapplicable)


def test_more_answers_of_one_provider_do_not_bring_it_nearer() -> None:
    """As many count of each as of the one with the fewest."""
    given = world([[], [], [FP8], [], []])
    more = {provider: {prompt: a * 3 for prompt, a in prompts.items()} for provider, prompts in given.items()}
    more["provider 4"] = given["provider 4"]
    assert judged(more) == judged(given)


def test_its_evidence_is_an_exact_p_that_is_averaged() -> None:
    found = judged(world([[], [], [FP8], [], []]))
    given = found.evidence(KEY, "provider 2", 7.0)
    assert isinstance(given.says, ExactP)
    assert given.says.p == found.placed[2].p < 1e-4
    assert given.says.combining is Combining.AVERAGE
    assert (given.at, given.n) == (7.0, 20)
    with pytest.raises(KeyError):
        found.evidence(KEY, "nobody", 7.0)


def drawn(chances: Sequence[float], seed: int = 0, draws: int = 25) -> dict[str, dict[str, list[bytes]]]:
    rng = np.random.default_rng(seed)
    return {
        f"provider {place}": {
            f"prompt {prompt}": [b"b" if one else b"a" for one in rng.random(draws) < chance] for prompt in range(20)
        }
        for place, chance in enumerate(chances)
    }


def test_draws_are_compared_by_their_shares() -> None:
    found = of_draws(drawn([0.3, 0.3, 0.3, 0.8, 0.3]))
    assert isinstance(found, Consensus)
    assert found.differing == ("provider 3",)
    assert "of the draws" in str(found)
    named = []
    for seed in range(30):
        still = of_draws(drawn([0.3] * 5, seed))
        assert isinstance(still, Consensus)
        named.append(bool(still.differing))
    assert sum(named) <= 2


def test_a_provider_has_no_say_in_what_it_is_held_against() -> None:
    """Of two and two, each has one like itself among the others, and two that are not."""
    found = of_draws(drawn([0.0, 0.0, 1.0, 1.0]))
    assert isinstance(found, Consensus)
    assert [one.distance for one in found.placed] == pytest.approx([1.0] * 4)


def test_answers_without_any_noise_are_compared_too() -> None:
    found = of_draws(drawn([0.0, 0.0, 0.0, 1.0, 0.0]))
    assert isinstance(found, Consensus)
    assert found.differing == ("provider 3",)
    assert found.placed[3].ratio == np.inf
    alike = of_draws(drawn([0.0] * 5))
    assert isinstance(alike, Consensus)
    assert str(alike) == "none of 5 providers differs from the others"


def test_alpha_is_a_chance() -> None:
    with pytest.raises(ValueError, match="alpha"):
        of_logprobs(world([[]] * 4), alpha=0.0)
