"""RUT, the comparison of likelihoods, Token-DiFR and the naive rule against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.detection_lab.rivals import nll, rut, token_difr, z_rule

NAN = np.nan


def test_log_rank_counts_the_most_likely_as_first_and_nothing_after_the_end() -> None:
    ranks = np.array([[0, 0, 0], [0, 3, -1]], dtype=np.int32)
    assert rut.log_rank(ranks) == pytest.approx([0.0, np.log(4) / 2])


def test_rank_counts_the_reference_below_and_a_random_share_of_ties() -> None:
    reference = np.array([[1.0, 2.0, 3.0, 4.0]] * 3)
    ranks = rut.randomised_ranks(np.array([2.5, 9.0, 2.0]), reference, np.random.default_rng(0))
    assert ranks[:2].tolist() == [0.5, 1.0]
    assert 0.25 <= ranks[2] <= 0.5


def test_omega_squared_of_three_ranks() -> None:
    # 1/36 + (1/6 - .1)² + (1/2 - .4)² + (5/6 - .9)².
    expected = 1 / 36 + (1 / 6 - 0.1) ** 2 + 0.1**2 + (5 / 6 - 0.9) ** 2
    assert rut.omega_squared(np.array([0.9, 0.1, 0.4])) == pytest.approx(expected)


def test_p_value_is_that_of_omega_squared() -> None:
    from scipy.stats import cramervonmises

    ranks = np.random.default_rng(1).random(40)
    assert cramervonmises(ranks, "uniform").statistic == pytest.approx(rut.omega_squared(ranks))
    assert rut.p_value(ranks) == pytest.approx(cramervonmises(ranks, "uniform").pvalue)


def test_rut_keeps_its_level_with_one_answer_to_a_prompt() -> None:
    rng = np.random.default_rng(2)
    found = [
        rut.p_value(rut.randomised_ranks(rng.normal(size=60), rng.normal(size=(60, 100)), rng)) for _ in range(300)
    ]
    # .05 is expected, with a standard error of .0126.
    assert np.mean(np.array(found) <= 0.05) < 0.05 + 3 * 0.0126


def test_z_of_likelihoods_worked_out_by_hand() -> None:
    first, second = np.array([[1.0, 3.0]]), np.array([[4.0, 4.0, 7.0]])
    # Means 2 and 5; variances 2 / 2 and 3 / 3.
    assert nll.z(first, second) == pytest.approx(3 / np.sqrt(2))
    assert nll.z(second, first) == pytest.approx(-3 / np.sqrt(2))
    assert nll.p_value(first, second) == pytest.approx(0.0339, abs=1e-4)


def test_prompts_that_differ_from_each_other_do_not_blur_the_comparison() -> None:
    rng = np.random.default_rng(3)
    hardness = np.array([[0.0], [50.0]])
    first, second = (hardness + rng.normal(size=(2, 20)) for _ in range(2))
    assert abs(nll.z(first, second)) < 4
    assert nll.z(first, second + 5.0) > 10


def test_mean_likelihood_leaves_out_what_is_after_the_end() -> None:
    assert nll.mean_nll(np.array([-1.0, -2.0, NAN])) == pytest.approx(1.5)


def test_margins_are_clipped_and_mismatches_counted_among_the_tokens_there_are() -> None:
    margins = np.array([[0.0, 0.2, 3.0, NAN], [0.0, 0.0, NAN, NAN]])
    assert token_difr.clipped(margins).tolist() == [0.0, 0.2, 0.5, 0.0, 0.0]
    assert token_difr.mismatch_rate(margins) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("rate", "lawful", "tokens"),
    [(0.017, 0.005, 1521), (0.05, 0.005, 192), (0.05, 0.02, 844), (0.128, 0.005, 45), (0.128, 0.02, 99)],
)
def test_tokens_needed_are_those_of_the_pilot_study(rate: float, lawful: float, tokens: int) -> None:
    # The study rounds its rates to a thousandth.
    assert token_difr.tokens_needed(rate, lawful, 13.5) == pytest.approx(tokens, rel=0.03)


def test_no_number_of_tokens_shows_a_rate_that_is_lawful() -> None:
    assert token_difr.tokens_needed(0.005, 0.02, 13.5) == np.inf
    assert token_difr.tokens_needed(0.02, 0.02, 13.5) == np.inf
    assert token_difr.tokens_needed(1.0, 0.02, 13.5) == pytest.approx(13.5 / np.log(50))


def test_naive_rule_counts_standard_deviations_of_the_baseline() -> None:
    assert z_rule.z(np.array([4.0, 2.0]), np.array([1.0, 2.0, 3.0])).tolist() == [2.0, 0.0]
