from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.multiplicity import ELond, Family, across_families, e_bh, provider_wide


def test_a_family_pays_for_its_tests_and_the_run_for_its_families() -> None:
    adjusted = across_families({Family.TRIGGER: [0.01, 0.5], Family.LOOP: [0.03], Family.LATENCY: []})
    assert adjusted == {Family.TRIGGER: pytest.approx(0.04), Family.LOOP: pytest.approx(0.04)}


@given(st.lists(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4), min_size=1, max_size=6))
@settings(max_examples=50)
def test_no_p_is_smaller_than_bonferronis_over_all_shares_would_leave_it(families: list[list[float]]) -> None:
    asked = {f"{place}": p for place, p in enumerate(families)}
    alone, among_six = across_families(asked), across_families(asked, 6)

    assert among_six == {name: min(1.0, 6 * p) for name, p in alone.items()}
    assert min(among_six.values()) == pytest.approx(
        min(1.0, min(6 * len(asked) * min(1.0, len(p) * min(p)) for p in families))
    )


def test_one_of_two_hundred_endpoints_needs_four_thousand() -> None:
    others = {f"endpoint-{i}": 1.0 for i in range(199)}
    assert e_bh({**others, "moved": 3_999.0}, 0.05) == frozenset()
    assert e_bh({**others, "moved": 4_000.0}, 0.05) == {"moved"}
    assert e_bh({}, 0.05) == frozenset()


@settings(max_examples=50)
@given(st.dictionaries(st.text("abcd", max_size=2), st.floats(0.0, 1e6), max_size=12), st.floats(0.01, 0.5))
def test_the_largest_are_listed_and_each_pays_for_the_list(e_values: dict[str, float], alpha: float) -> None:
    listed = e_bh(e_values, alpha)
    assert all(e_values[name] >= len(e_values) / (alpha * len(listed)) for name in listed)
    left = [e_values[name] for name in e_values if name not in listed]
    assert max(left, default=0.0) <= min((e_values[name] for name in listed), default=np.inf)


def test_a_shared_shock_keeps_the_share_of_false_discoveries() -> None:
    rng = np.random.default_rng(0)
    false = []
    for _ in range(2_000):
        shock = rng.exponential()  # mean 1, the same for all unchanged endpoints
        e_values = {f"same-{i}": shock * 10 for i in range(2)} if rng.random() < 0.1 else {"same-0": 0.0, "same-1": 0.0}
        listed = e_bh({**e_values, "moved": 1e4}, 0.1)
        false.append(len(listed - {"moved"}) / max(1, len(listed)))
    assert np.mean(false) <= 0.1


def test_epochs_pay_for_all_that_come_and_earn_by_what_is_listed() -> None:
    state = ELond(0.05)
    assert state.needed == 40.0
    assert state.after(39.0) == ELond(0.05, epochs=1, listed=0)
    assert state.after(40.0) == ELond(0.05, epochs=1, listed=1)
    assert state.after(40.0).needed == 60.0
    assert state.after(39.0).needed == 120.0


def test_epochs_that_have_everything_in_common_keep_the_share() -> None:
    rng = np.random.default_rng(0)
    false = []
    for _ in range(2_000):
        # One shock of mean 1 makes all unchanged epochs at once; every fourth epoch did change.
        shock = 50.0 if rng.random() < 1 / 50 else 0.0
        state, wrong = ELond(0.05), 0
        for epoch in range(12):
            before, state = state, state.after(1e6 if epoch % 4 == 3 else shock)
            wrong += (state.listed - before.listed) * (epoch % 4 != 3)
        false.append(wrong / max(1, state.listed))
    assert np.mean(false) <= 0.05


def test_a_provider_is_the_average_of_its_endpoints() -> None:
    assert provider_wide([3.0, 1.0, 2.0]) == 2.0
    assert provider_wide([]) == 1.0
