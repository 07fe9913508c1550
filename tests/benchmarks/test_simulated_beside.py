"""A short form of the part `beside` of `benchmarks.simulated`."""

from __future__ import annotations

from benchmarks.simulated import beside


def test_lawful_endpoints_are_seldom_named_and_the_one_that_is_shifted_is() -> None:
    figures = list(beside.figures(20, seed=3))
    assert [one.what for one in figures if one.missed] == []
    assert [one.value >= 0.8 for one in figures if one.most is None] == [True, True]
