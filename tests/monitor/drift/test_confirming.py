"""A run of single-use prompts alone, as a check that confirms a drift makes it."""

from __future__ import annotations

import pytest

from monitor.drift.assess import assess
from monitor.drift.findings import Assessment
from monitor.drift.rule import Verdict
from tests.monitor.drift.synthetic import World, material


def confirmed(stack: str, *, seed: int, runs: int = 1) -> Assessment:
    """Found by 40 fresh prompts against a baseline of whole runs."""
    world = World(seed)
    baseline = [answer for _ in range(runs) for answer in world.run("bf16")]
    return assess(material(world.run(stack, anchors=0, singles=40), baseline), no_baseline_reason="not enrolled")


@pytest.mark.parametrize("runs", [1, 5])
def test_an_unchanged_endpoint_is_ok_and_a_change_would_have_been_seen(runs: int) -> None:
    found = confirmed("bf16", seed=1, runs=runs).logprobs

    assert found.verdict is Verdict.OK
    assert found.detectable is not None
    assert found.target is not None
    assert found.detectable <= found.target


@pytest.mark.parametrize("runs", [1, 5])
@pytest.mark.parametrize("stack", ["w8-channel", "fp8-e4m3", "nf4", "w4-g64", "system-prompt:none"])
def test_a_changed_endpoint_is_drift_by_single_use_answers_alone(stack: str, runs: int) -> None:
    assert confirmed(stack, seed=2, runs=runs).logprobs.verdict is Verdict.DRIFT


def test_unchanged_endpoints_are_not_called_changed() -> None:
    p = [confirmed("bf16", seed=seed).logprobs.p for seed in range(8)]

    assert sum(value is not None and value <= 0.2 for value in p) <= 5
    assert all(value is not None and value > 1e-3 for value in p)
