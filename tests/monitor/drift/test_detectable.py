from __future__ import annotations

import numpy as np

from monitor.drift.detectable import detectable_shift
from monitor.drift.shift import Prepared
from tests.monitor.drift.test_trials import TARGET, prepared_of

ALPHA = 5e-5


def test_the_same_seed_sees_the_same() -> None:
    prepared = prepared_of(1, 0.1, singles=2)
    assert detectable_shift(prepared, ALPHA, TARGET, seed=7) == detectable_shift(prepared, ALPHA, TARGET, seed=7)


def test_a_louder_endpoint_hides_more_and_more_runs_show_more() -> None:
    quiet, loud = (detectable_shift(prepared_of(2, noise), ALPHA, TARGET) for noise in (0.03, 0.3))
    longer = detectable_shift(prepared_of(2, 0.3, runs=5), ALPHA, TARGET)
    assert quiet < longer < loud < np.inf


def test_what_few_answers_can_never_prove_is_not_detectable() -> None:
    few = prepared_of(3, 0.0, anchors=3)
    assert detectable_shift(Prepared(few.anchors, ()), ALPHA, TARGET) == np.inf


def test_single_use_answers_show_no_move_in_a_direction_nobody_knows() -> None:
    assert detectable_shift(Prepared((), prepared_of(4, 0.1).singles), ALPHA, None) == np.inf
