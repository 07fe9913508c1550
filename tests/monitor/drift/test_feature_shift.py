from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2_contingency, fisher_exact

from monitor.drift.feature_shift import Histograms, feature_test, stack_change, variant_shares


def test_g_is_the_likelihood_ratio() -> None:
    found = feature_test([Histograms({"a": 50, "b": 30, "c": 20}, {"a": 10, "b": 12, "c": 3})])
    table = np.array([[50, 30, 20], [10, 12, 3]])
    expected = chi2_contingency(table, lambda_="log-likelihood", correction=False)
    assert found is not None
    assert found.g == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue, abs=0.02)


def test_a_value_never_seen_before_is_named_and_rare() -> None:
    found = feature_test([Histograms({"call_*": 2_000}, {"call_*": 118, "chatcmpl-tool-*": 2})])
    assert found is not None
    assert found.new_values == ("chatcmpl-tool-*",)
    assert found.p == pytest.approx(fisher_exact(np.array([[2, 118], [0, 2_000]])).pvalue, rel=1e-6)


def test_another_mix_of_probes_is_no_change() -> None:
    plain, calls = Histograms({"text": 500}, {"text": 90}), Histograms({"null": 500}, {"null": 10})
    mixed = Histograms({"text": 500, "null": 500}, {"text": 90, "null": 10})
    apart, together = feature_test([plain, calls]), feature_test([mixed])
    assert apart is not None
    assert together is not None
    assert apart.p == pytest.approx(1.0)
    assert together.p < 1e-6


def test_windows_without_a_partner_are_left_out() -> None:
    assert feature_test([Histograms({}, {"a": 3}), Histograms({"a": 3}, {}), Histograms({"a": 0}, {"a": 1})]) is None


@pytest.mark.parametrize("kinds", [3, 25])
def test_an_unchanged_mixture_is_called_no_more_often_than_said(kinds: int) -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(kinds))
    called = []
    for seed in range(100):
        baseline, new = (Counter(map(str, rng.choice(kinds, size=n, p=shares))) for n in (200, 30))
        found = feature_test([Histograms(baseline, new)], most=1_000, seed=seed)
        called.append(found is not None and found.p <= 0.1)
    assert np.mean(called) <= 0.1 + 3 * np.sqrt(0.09 / 100)


def test_a_feature_that_is_another_one_in_every_response_takes_little_memory() -> None:
    before, now = ({f"{side}{place}": 1 for place in range(times)} for side, times in (("a", 1_500), ("b", 300)))
    tracemalloc.start()
    try:
        found = feature_test([Histograms(before, now)])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert found is not None
    assert peak < 256 * 1024**2


@pytest.mark.parametrize(
    ("baseline", "new", "changed"),
    [
        ({"a": 200}, {"b": 2}, ("b",)),
        ({"a": 200}, {"a": 100, "b": 1, "c": 1}, ()),
        ({"a": 199}, {"b": 9}, ()),
        ({"a": 199, "b": 1}, {"c": 9}, ()),
        ({"a": 200, "b": 0}, {"b": 2, "c": 3}, ("b", "c")),
        ({"a": 200}, {"a": 200}, ()),
    ],
)
def test_a_deterministic_feature_changes_with_the_second_new_value(
    baseline: dict[str, int], new: dict[str, int], changed: tuple[str, ...]
) -> None:
    assert stack_change(Histograms(baseline, new)) == changed


def test_variants_have_shares_with_intervals() -> None:
    shares = variant_shares({"fp8": 59, "bf16": 541})
    assert list(shares) == ["bf16", "fp8"]
    assert shares["fp8"].value == pytest.approx(0.0983, abs=1e-4)
    assert shares["fp8"].low == pytest.approx(0.077, abs=2e-3)
    assert shares["fp8"].high == pytest.approx(0.125, abs=2e-3)
    assert variant_shares({}) == {}
