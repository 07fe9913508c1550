"""Many moved runs at once are what one moved run is."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.shift import Aligned, Prepared, Single, prepare, prompt_table, statistic, without_shift
from monitor.drift.trials import AnchorTrials, SingleTrials, Trials
from tests.monitor.drift.synthetic import REFERENCE, World

OTHERS = [name for name in REFERENCE.candidates if name != REFERENCE.base]
TARGET = OTHERS.index("w8-channel")
TRIALS = 30


def prepared_of(seed: int, noise: float, *, runs: int = 1, anchors: int = 6, singles: int = 8) -> Prepared:
    world = World(seed, noise)
    baseline = [answer for _ in range(runs) for answer in world.run("bf16", anchors=anchors, singles=singles)]
    found = prepare(baseline, world.run("bf16", anchors=anchors, singles=singles), "bf16", OTHERS)
    assert found is not None
    return found


def moved(still: Aligned, new: np.ndarray, size: float) -> Aligned:
    """The same answers, of which those called new went along the target's step."""
    step = still.steps[TARGET]
    return replace(still, new=new, values=still.values + np.outer(new, step) * (size / np.abs(step).mean()))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.floats(0.0, 1.0), count=st.integers(1, 4))
def test_a_prompt_of_a_trial_is_a_prompt_whose_answers_moved(seed: int, size: float, count: int) -> None:
    still = prepared_of(seed, 0.1, anchors=1).anchors[0]
    total = still.new.size
    news = [np.isin(np.arange(total), some) for some in combinations(range(total), int(still.new.sum()))]
    alone = [prompt_table(moved(still, new, size), np.random.default_rng(0)).values for new in news]

    flat = AnchorTrials.of(still, TARGET, count, np.random.default_rng(seed)).table(size).values

    for table in flat.reshape(len(flat), count, -1).swapaxes(0, 1):
        # Row 0 is the truth; the others may stand in any order.
        (same,) = [one for one in alone if np.allclose(one[0], table[0])]
        assert np.allclose(np.sort(same, axis=0), np.sort(table, axis=0))


def test_a_single_use_answer_of_a_trial_is_a_past_one_and_moved_where_it_is_new() -> None:
    singles = prepared_of(1, 0.1).singles
    trials = SingleTrials.of(singles, TARGET, TRIALS, np.random.default_rng(1))

    pool = trials.pool(0.3)

    past = [single for single in singles if not single.new]

    def away(single: Single) -> Single:
        step = single.steps[TARGET]
        return replace(single, residual=single.residual + step * 0.3 / np.abs(step).mean())

    for place, single in enumerate(singles):
        possible = np.array([(away(one) if single.new else one).scores() for one in past])
        for scores in pool.scores[place].reshape(TRIALS, -1):
            assert np.isclose(possible, scores).all(axis=1).any()


@pytest.mark.parametrize(("size", "target"), [(0.0, TARGET), (0.05, TARGET), (0.15, None)])
def test_tests_of_many_runs_are_as_those_of_single_runs(size: float, target: int | None) -> None:
    """Statistics in units of their relabellings: the same middle and the same width, within the noise of 120 runs."""
    prepared = prepared_of(2, 0.1)
    rng = np.random.default_rng(3)
    still = [without_shift(one) for one in prepared.anchors]
    past = [single for single in prepared.singles if not single.new]

    def one_run() -> float:
        anchors = []
        for one in still:
            new = rng.permutation(one.new)
            step = rng.standard_normal(one.values.shape[1]) if target is None else one.steps[target]
            values = one.values + np.outer(new, step) * (size / np.abs(step).mean())
            anchors.append(replace(one, new=new, values=values))
        singles = []
        for single in prepared.singles:
            drawn = past[rng.integers(len(past))]
            step = drawn.steps[TARGET]
            far = size / np.abs(step).mean() if single.new and target is not None else 0.0
            singles.append(replace(drawn, new=single.new, residual=drawn.residual + step * far))
        observed, relabelled = statistic(Prepared(tuple(anchors), tuple(singles)), 200, rng)
        return float((observed - relabelled.mean()) / relabelled.std())

    alone = np.array([one_run() for _ in range(120)])
    tested = Trials.of(prepared, target, 120, rng).tested(size, 200, rng)
    together = (tested.observed - tested.relabelled.mean(axis=0)) / tested.relabelled.std(axis=0)

    error = float(np.hypot(alone.std(), together.std())) / np.sqrt(120)
    assert abs(float(alone.mean() - together.mean())) < 3.0 * error
    assert together.std() == pytest.approx(alone.std(), rel=0.25)
