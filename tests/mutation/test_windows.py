"""All that is tested of a run of tool-call cases together stays silent while nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.mutation.windows import Endpoint, p_values, screens, window

pytestmark = pytest.mark.mutation


def test_all_families_are_tested_in_a_window() -> None:
    rng = np.random.default_rng(0)

    assert set(p_values(window(Endpoint.drawn(rng, 40), rng, 3))) == {
        *(f"drift.{family}" for family in ("availability", "conformance", "trigger", "arguments")),
        *(f"fidelity.{family}" for family in ("conformance", "trigger", "arguments", "twins")),
    }


def test_windows_of_an_unchanged_endpoint_are_suspected_no_more_often_than_said() -> None:
    """Of 40 light ones, four, which more would be by chance once in 1,000 times."""
    assert screens(40, np.random.default_rng(1), cases=40, reps=3)[0] <= 4


@pytest.mark.soak
def test_of_a_thousand_windows_at_most_31_are_suspected_and_one_is_confirmed() -> None:
    hits, confirmed = screens(1_000, np.random.default_rng(2), cases=120, reps=5)

    assert hits <= 31
    assert confirmed <= 1
