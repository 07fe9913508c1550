"""What a run's greedy answers are found to be: against the endpoint's past, and against the reference where it may."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.evidence import Factors, Inapplicable, Scores
from monitor.drift.greedy import LEAST_ANSWERS, Greedy, as_observation, assess_greedy
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict


def answers(seed: int, noise: float, count: int = 20, tokens: int = 100, prompt: int = 40) -> list[Observation]:
    """Tokens whose runner-up is some tenths of a nat behind, given with so much noise on the difference, in nats."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        gaps = rng.exponential(2.0, tokens)
        turned = rng.normal(0.0, 1.0, tokens) * noise > gaps
        found.append(as_observation(f"greedy-{seed}-{number}", np.where(turned, gaps, 0.0), gaps, prompt, prompt))
    return found


def past(noise: float, runs: int = 5) -> list[Observation]:
    return [one for run in range(runs) for one in answers(1_000 + run, noise)]


def assessed(new: list[Observation], before: list[Observation], shares: int = 1) -> Greedy:
    return assess_greedy("e", new, before, no_past="enrolled", shares=shares)


def names(found: Greedy) -> list[str]:
    return [one.stream.probe_set for one in found.evidence]


def test_an_endpoint_with_the_references_numbers_is_read_both_ways_and_never_drifts() -> None:
    found = [assessed(answers(seed, 0.02), past(0.02)) for seed in range(5)]
    assert {one.finding.verdict for one in found} == {Verdict.INCONCLUSIVE}
    assert {tuple(names(one)) for one in found} == {("greedy/short", "near-ties")}


def test_other_weights_are_drift_by_one_run() -> None:
    finding = assessed(answers(1, 0.5), past(0.02)).finding
    assert finding.verdict is Verdict.DRIFT
    assert "not the reference's own" in finding.reason
    assert (finding.value or 0.0) > 0.0


def test_an_endpoint_with_noise_of_its_own_is_held_against_its_past_alone() -> None:
    same = assessed(answers(1, 0.3), past(0.3))
    worse = assessed(answers(1, 3.0), past(0.3))

    assert names(same) == names(worse) == ["greedy/short"]
    assert same.finding.verdict is Verdict.INCONCLUSIVE
    assert worse.finding.verdict is Verdict.DRIFT
    assert "before" in worse.finding.reason


def test_the_p_of_two_readings_pays_for_both_and_for_the_other_probes() -> None:
    alone, of_three = (assessed(answers(3, 0.06), past(0.02), shares).finding for shares in (1, 3))
    assert alone.p == alone.adjusted_p is not None
    assert of_three.adjusted_p == min(1.0, 3 * (alone.p or 0.0))


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 10_000))
def test_the_order_of_answers_is_all_the_same(seed: int) -> None:
    new, before = answers(seed, 0.2, count=8, tokens=20), past(0.2, runs=1)
    shuffled = [new[place] for place in np.random.default_rng(seed).permutation(len(new))]
    one, other = assessed(new, before), assessed(shuffled, before)
    # The relabellings are random ones.
    assert one.finding.p == pytest.approx(other.finding.p, abs=0.01)
    assert one.finding.value == pytest.approx(other.finding.value)


def test_long_prompts_are_a_stream_of_their_own() -> None:
    new = [*answers(1, 0.02, count=3), *answers(2, 0.02, count=2, prompt=9_000)]
    found = {one.stream.probe_set: one.says for one in assessed(new, past(0.02)).evidence}
    assert isinstance(found["greedy/long"], Scores)
    assert len(found["greedy/long"].scores) == 2
    assert isinstance(found["near-ties"], Factors)


def test_without_a_past_streams_are_told_and_the_run_concludes_nothing() -> None:
    found = assessed(answers(1, 0.02), [])
    assert (found.finding.verdict, found.finding.reason) == (Verdict.INCONCLUSIVE, "enrolled")
    assert names(found) == ["greedy/short"]


def test_of_a_small_baseline_nothing_is_concluded() -> None:
    few = answers(9, 0.02, count=LEAST_ANSWERS - 1)
    assert (
        assessed(answers(1, 0.5), few).finding.reason == f"{LEAST_ANSWERS - 1} of {LEAST_ANSWERS} answers of a baseline"
    )


def test_answers_that_cannot_be_read_are_no_pass() -> None:
    found = assessed([], past(0.02))
    assert found.finding.verdict is Verdict.INAPPLICABLE
    assert isinstance(found.evidence[0].says, Inapplicable)
