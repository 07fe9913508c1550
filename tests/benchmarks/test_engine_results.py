"""Ratios compare our best bitwise profile with the best peer, and tables say whose bits stay the same."""

from __future__ import annotations

import pytest

from benchmarks.engines.measure import rate
from benchmarks.engines.prompts import Prompts
from benchmarks.engines.results import Further, Result, Spread, further_table, ratio, table
from benchmarks.engines.subject import Generated

YES = {"in a batch": "yes", "after a prefix": "yes"}
NO = {"in a batch": "no", "after a prefix": "yes"}
RESULTS = [
    Result("ours fp32", True, [{"scoring": 300.0, "ttft": 50.0}, {"scoring": 320.0, "ttft": 60.0}], YES),
    Result("ours w8a8", True, [{"scoring": 600.0, "ttft": 90.0}], YES),
    Result("ours fast", True, [{"scoring": 9000.0, "ttft": 1.0}], NO),
    Result("rival", False, [{"scoring": 400.0, "ttft": 110.0}], NO),
    Result("other", False, [{"scoring": None, "ttft": 100.0}], YES),
]


def test_the_ratio_is_of_the_best_bitwise_profile_to_the_best_peer() -> None:
    found = ratio(RESULTS, "scoring")
    assert found is not None
    assert (found.value, found.ours.name, found.peer.name) == (1.5, "ours w8a8", "rival")


def test_of_times_the_shorter_is_the_better() -> None:
    found = ratio(RESULTS, "ttft")
    assert found is not None
    assert (found.ours.name, found.peer.name) == ("ours fp32", "other")
    assert found.value == pytest.approx(100 / 55)


@pytest.mark.parametrize("missing", [RESULTS[:3], RESULTS[2:], []])
def test_without_either_side_there_is_no_ratio(missing: list[Result]) -> None:
    assert ratio(missing, "scoring") is None


def test_a_figure_is_the_median_of_the_rounds_with_its_spread() -> None:
    assert Result("one", True, [{"prefill": at} for at in (3.0, 1.0, 1200.0)]).spread("prefill") == Spread(3, 1, 1200)
    assert str(Spread(1034.4, 990, 1200)) == "1,034 (990–1,200)"


def test_the_table_has_the_ratio_and_whose_bits_stay_the_same_under_each_column() -> None:
    lines = table(RESULTS, ("scoring", "ttft"))
    assert lines[0] == ("| engine | scoring, tokens/s | TTFT, ms | same bits in a batch | same bits after a prefix |")
    assert lines[2] == "| ours fp32 | 310 (300–320) | 55 (50–60) | yes | yes |"
    assert lines[6] == "| other | not offered | 100 | yes | yes |"
    assert lines[7] == "| **ours, bitwise ÷ best peer** | **1.50** | **1.82** |  |  |"
    assert lines[8] == "| which | ours w8a8 ÷ rival | ours fp32 ÷ other |  |  |"
    assert lines[9] == "| same bits, ours / peer | yes / no | yes / yes |  |  |"
    assert {line.count("|") for line in lines} == {6}


def test_a_row_without_a_figure_says_why() -> None:
    rows = [
        Further("speculation", "fp32", 1.626, "output identical"),
        Further("exactness", "fp32", None, "left out: no"),
    ]
    assert further_table(rows)[2:] == [
        "| speculation | fp32 | 1.63 | output identical |",
        "| exactness | fp32 | – | left out: no |",
    ]


def test_only_time_in_which_all_answers_are_written_counts() -> None:
    # The second answer begins a second later and ends a second later: tokens at 1, 2, 3 of both are side by side.
    side_by_side = Generated(-5.0, [[0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
    assert rate(side_by_side) == 4 / 2


def test_answers_one_after_the_other_count_over_all_their_time() -> None:
    assert rate(Generated(-5.0, [[0.0, 1.0, 2.0], [5.0, 6.0, 7.0]])) == 5 / 7


def test_prompts_are_new_each_time_and_the_same_for_every_engine() -> None:
    one, other = Prompts(3, 1000), Prompts(3, 1000)
    first, second = one.fresh(2, 32), one.fresh(2, 32)
    assert (first, second) == (other.fresh(2, 32), other.fresh(2, 32))
    assert len({tuple(prompt) for prompt in first + second}) == 4
    assert all(100 <= token < 900 for prompt in first + second for token in prompt)


def test_prompts_that_share_a_beginning_differ_after_it() -> None:
    prompts = Prompts(0, 1000).sharing(4, 16, 8)
    assert len({tuple(prompt[:16]) for prompt in prompts}) == 1
    assert len({tuple(prompt[16:]) for prompt in prompts}) == 4
    assert {len(prompt) for prompt in prompts} == {24}
