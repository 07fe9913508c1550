"""A short form of the simulated part `rebaselines`."""

from __future__ import annotations

import numpy as np

from benchmarks.simulated.__main__ import PARTS
from benchmarks.simulated.rebaselines import NATS, RAMP, STEP, UNCHANGED, Endpoint, figures


def test_an_unchanged_endpoint_is_not_told_to_have_moved_over_24_baselines() -> None:
    rng = np.random.default_rng(0)
    told = [(Endpoint(rng).levels(UNCHANGED), Endpoint(rng).means(UNCHANGED)) for _ in range(40)]
    assert sum(one is not None for both in told for one in both) <= 2


def test_a_ramp_of_steps_that_no_stream_sees_is_told_before_its_end() -> None:
    rng = np.random.default_rng(1)
    levels = [Endpoint(rng, step=STEP).levels(RAMP) for _ in range(20)]
    means = [Endpoint(rng, nats=NATS).means(RAMP) for _ in range(20)]
    assert sum(one is not None for one in levels) >= 19
    assert sum(one is not None for one in means) >= 19
    # No single step is.
    assert [one for one in levels if one == 1] == []
    assert [one for one in means if one == 1] == []


def test_every_row_is_there_and_met() -> None:
    rows = list(figures(20))
    assert len(rows) == 8
    assert not any(row.missed for row in rows)
    assert "rebaselines" in PARTS
