from __future__ import annotations

import numpy as np

from monitor.drift.onset import onset
from monitor.drift.score_stream import Round

HOUR = 3_600.0


def rounds(*scores: float) -> list[Round]:
    return [Round(place * HOUR, score) for place, score in enumerate(scores)]


def test_a_gross_change_is_dated_to_its_first_round() -> None:
    found = onset(rounds(*[0.1] * 30, *[1.0] * 9), 0.3)
    assert found is not None
    assert (found.first, found.detected) == (30 * HOUR, 38 * HOUR)
    assert found.after is not None
    assert 27 * HOUR <= found.after < 30 * HOUR <= found.until <= 32 * HOUR


def test_a_small_change_has_a_wider_interval_with_the_truth_in_it() -> None:
    rng = np.random.default_rng(0)
    inside, errors = [], []
    for _ in range(60):
        scores = rng.binomial(10, np.where(np.arange(200) < 120, 0.1, 0.4)) / 10
        found = onset(rounds(*scores), 0.25)
        assert found is not None
        inside.append((found.after is None or found.after < 120 * HOUR) and found.until >= 120 * HOUR)
        errors.append(abs(found.first / HOUR - 120))
    assert np.mean(inside) >= 0.8
    assert np.median(errors) <= 2


def test_what_was_there_from_the_beginning_has_no_clean_round_before_it() -> None:
    found = onset(rounds(*[0.9] * 12), 0.3)
    assert found is not None
    assert (found.first, found.after) == (0.0, None)


def test_lawful_rounds_have_no_onset() -> None:
    assert onset(rounds(*[0.1] * 20), 0.3) is None
    assert onset([], 0.3) is None
