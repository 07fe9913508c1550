from __future__ import annotations

import numpy as np
import pytest

from monitor.drift.observation import Observation
from monitor.drift.shift import prepare, run_noise, shift_test
from tests.monitor.drift.synthetic import REFERENCE, World

OTHERS = [name for name in REFERENCE.candidates if name != "bf16"]


def compared(new: list[Observation], baseline: list[Observation], *, count: int) -> tuple[float, float]:
    evidence = prepare(baseline, new, "bf16", OTHERS)
    assert evidence is not None
    result = shift_test(evidence, len(new), count=count)
    return result.p, result.shift


def test_unchanged_deterministic_endpoint_gives_no_evidence() -> None:
    world = World(1, noise=0.0)
    p, shift = compared(world.run("bf16"), world.run("bf16"), count=1_000)
    assert (p, shift) == (1.0, 0.0)


@pytest.mark.parametrize("stack", ["w8-channel", "fp8-e4m3", "nf4", "w4-g64", "system-prompt:none"])
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_changed_stack_is_proven_by_one_run_of_forty_answers(stack: str, noise: float) -> None:
    world = World(2, noise=noise)
    p, shift = compared(world.run(stack), world.run("bf16"), count=200_000)
    assert p <= 1e-5
    assert shift > 0.04


def test_p_values_of_unchanged_endpoints_are_uniform_or_larger() -> None:
    world = World(3)
    p_values = np.array([compared(world.run("bf16"), world.run("bf16"), count=400)[0] for _ in range(250)])
    for level in (0.01, 0.05, 0.2, 0.5):
        allowed = level + 3.0 * np.sqrt(level * (1.0 - level) / p_values.size)
        assert (p_values <= level).mean() <= allowed


def test_a_repeat_that_differs_from_the_first_makes_the_test_more_careful_not_less() -> None:
    """Cold and warm answers differ systematically on engines with a prefix cache (vLLM issue 40896)."""
    world = World(4)

    def with_cold_first(run: list[Observation]) -> list[Observation]:
        return [
            Observation(
                o.item_key, o.rep, o.anchor, o.tokens, o.logprobs + (0.06 if o.rep == 0 else 0.0), o.sampled,
                o.reference_tokens, o.expected, o.prompt_tokens, o.expected_prompt_tokens, o.response_id,
            )
            for o in run
            if o.anchor
        ]  # fmt: skip

    p_values = np.array(
        [
            compared(with_cold_first(world.run("bf16")), with_cold_first(world.run("bf16")), count=400)[0]
            for _ in range(200)
        ]
    )
    assert (p_values <= 0.05).mean() <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 200)


def test_shift_is_measured_in_nats_and_free_of_noise() -> None:
    world = World(5, noise=0.05)
    _, shift = compared(world.run("fp8-e4m3"), world.run("bf16"), count=500)
    assert shift == pytest.approx(0.154, rel=0.25)
    still = [compared(world.run("bf16"), world.run("bf16"), count=50)[1] for _ in range(20)]
    assert np.mean(still) < 0.02


def test_shorter_lists_are_no_change_by_themselves() -> None:
    """An endpoint that returns 5 alternatives where it returned 20 did not move: lists are cut to the shorter."""
    world = World(6)
    p, _ = compared(world.run("bf16", listed=5), world.run("bf16"), count=4_000)
    assert p > 0.01


def test_another_model_with_other_tokens_is_proven() -> None:
    world = World(7)
    swapped = [
        Observation(
            o.item_key, o.rep, o.anchor, tuple(b"other" + t for t in o.tokens), o.logprobs, o.sampled,
            o.reference_tokens, o.expected, o.prompt_tokens, o.expected_prompt_tokens, o.response_id,
        )
        for o in world.run("bf16")
    ]  # fmt: skip
    p, shift = compared(swapped, world.run("bf16"), count=200_000)
    assert p <= 1e-5
    assert shift > 0.5


def test_without_a_reference_anchors_alone_prove_a_change() -> None:
    world = World(8)
    evidence = prepare(world.run("bf16", anchors=20, singles=0), world.run("nf4", anchors=20, singles=0), None, ())
    assert evidence is not None
    assert shift_test(evidence, 40).p <= 1e-5


def test_runs_without_a_common_prompt_cannot_be_compared() -> None:
    world = World(9)
    assert prepare(world.run("bf16", anchors=0), world.run("bf16", singles=0), "bf16", OTHERS) is None


def test_run_noise_is_the_mean_difference_of_repeats() -> None:
    assert run_noise(World(10, noise=0.0).run("bf16")) == 0.0
    assert run_noise(World(10, noise=0.05).run("bf16", anchors=100)) == pytest.approx(0.05 * 0.8, rel=0.2)


def test_more_accepted_runs_make_the_test_sharper() -> None:
    world = World(11, noise=0.8)
    baseline = [answer for _ in range(5) for answer in world.run("bf16")]
    new = world.run("w8-channel")
    assert compared(new, baseline, count=100_000)[0] < compared(new, baseline[:40], count=100_000)[0]
