"""What a family's finding says of a rate hangs together: what it was, how far it moved, and so what it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.family import LEAST_CASES, answered
from monitor.drift.questions import Question, more_fail
from monitor.drift.ternary import DEFAULT_MARGINS
from monitor.drift.trigger import Paired

ASKED: Question[bool] = Question("answers that are right", lambda right: right, DEFAULT_MARGINS["value_ok"], more_fail)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_the_move_leads_from_one_rate_to_another(seed: int) -> None:
    """However unevenly the cases were asked on the two sides."""
    rng = np.random.default_rng(seed)
    asked = rng.integers(1, 9, size=(2, LEAST_CASES))
    right = rng.integers(0, asked + 1)

    found = answered([(ASKED, Paired.of(right[0], asked[0], right[1], asked[1]))]).finding(1.0)

    assert found.value is not None
    assert found.baseline is not None
    assert found.reason == ASKED.asks
    assert -1e-9 <= found.baseline + found.value <= 1.0 + 1e-9
    if (asked[0] == asked[1]).all():
        assert found.baseline == pytest.approx(right[1].sum() / asked[1].sum())
