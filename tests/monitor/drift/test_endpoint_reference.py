"""Another endpoint as the reference: noise on both sides, what is lawful between them, and whether it moved itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulated.figure import share
from benchmarks.simulated.other_endpoint import ALPHA, NOISES, Sides, answer, references_moved, verdicts
from monitor.drift.assess import assess
from monitor.drift.cause import ENDPOINT
from monitor.drift.endpoint_reference import (
    LAWFUL,
    TARGET,
    Served,
    beside,
    endpoint_fidelity,
    moved,
    own_answers,
    renamed,
    without_reference,
)
from monitor.drift.findings import Assessment
from monitor.drift.material import Material, Reference
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict
from tests.monitor.drift.synthetic import World, expected_of

NAME = "vendor/big"


@pytest.mark.parametrize("noise", NOISES)
def test_two_honest_stacks_as_far_apart_as_is_lawful_are_suspect_once_in_a_hundred(noise: tuple[float, float]) -> None:
    found = verdicts(Sides(noise), LAWFUL, 150, seed=7)

    assert not share("suspect", [one is Verdict.SUSPECT for one in found], ALPHA, "").missed


def test_one_weight_format_apart_is_suspect_and_the_same_stack_is_ok() -> None:
    assert set(verdicts(Sides(), TARGET, 20)) == {Verdict.SUSPECT}
    assert set(verdicts(Sides(), 0.0, 20)) == {Verdict.OK}


def test_the_reference_s_noise_alone_is_no_distance() -> None:
    rng = np.random.default_rng(3)
    found = endpoint_fidelity(Sides((0.0, 0.12)).run(rng), NAME, None).finding

    assert found.value is not None
    assert found.baseline is not None
    assert (found.verdict, found.value < 0.05) == (Verdict.OK, True)
    # Mean |Δ| of normal noise of 0.12.
    assert found.baseline == pytest.approx(0.12 * np.sqrt(2.0 / np.pi), rel=0.15)


def test_it_says_who_it_is_compared_with_and_ranks_no_cause() -> None:
    found = endpoint_fidelity(Sides().run(np.random.default_rng(1), here=0.3), NAME, None)

    assert found.finding.reason == "compared with vendor/big, an endpoint: no cause is ranked"
    assert (found.finding.causes, found.nearest, found.lawful) == ((), None, LAWFUL)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, 0.5), st.floats(0.1, 0.5), st.integers(0, 2**16))
def test_what_is_farther_apart_is_farther(apart: float, more: float, seed: int) -> None:
    near, far = (
        endpoint_fidelity(Sides().run(np.random.default_rng(seed), here=size), NAME, None).finding.value
        for size in (apart, apart + more)
    )

    assert near is not None
    assert far is not None
    assert near < far + 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16))
def test_the_order_of_a_list_and_of_the_answers_is_all_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = Sides().run(rng, here=0.1)
    mixed = []
    for one in found:
        order = rng.permutation(len(one.tokens))
        mixed.append(replace(one, tokens=tuple(one.tokens[place] for place in order), logprobs=one.logprobs[order]))
    mixed = [mixed[place] for place in rng.permutation(len(mixed))]

    first, second = (endpoint_fidelity(some, NAME, None).finding for some in (found, mixed))

    assert second.value == pytest.approx(first.value, rel=1e-9)
    assert second.verdict is first.verdict


def test_without_a_prompt_that_was_answered_twice_noise_is_not_known_and_nothing_concluded() -> None:
    rng = np.random.default_rng(1)

    found = endpoint_fidelity(Sides(anchors=0, singles=30).run(rng, here=1.0), NAME, None).finding

    assert found.verdict is Verdict.INCONCLUSIVE
    assert "its noise is not known" in found.reason


def test_who_gave_nothing_to_compare_is_named() -> None:
    answered = Sides().run(np.random.default_rng(1))
    alone = [without_reference(one) for one in answered]
    counted = [replace(one, expected_prompt_tokens=9) for one in alone]
    silent = [replace(one, tokens=(), logprobs=np.array([])) for one in answered]

    told = [endpoint_fidelity(some, NAME, None).finding for some in (alone, counted, silent)]

    assert [(one.verdict, one.reason) for one in told] == [
        (Verdict.INCONCLUSIVE, "vendor/big, the reference, gave no answer"),
        (Verdict.INAPPLICABLE, "vendor/big, the reference, gives no usable log-probabilities"),
        (Verdict.INAPPLICABLE, "the endpoint gives no usable log-probabilities"),
    ]


def test_a_suspicion_is_held_where_the_reference_moved_and_what_is_well_stays_so() -> None:
    rng = np.random.default_rng(2)

    far, near = (endpoint_fidelity(Sides().run(rng, here=size), NAME, "it moved").finding for size in (0.5, 0.0))

    assert (far.verdict, near.verdict) == (Verdict.INCONCLUSIVE, Verdict.OK)
    assert far.reason.endswith("; it moved")


def test_an_answer_stands_beside_the_reference_s_to_the_same_repeat() -> None:
    rising = np.arange(40.0) - 50.0
    ours = [answer("anchor-1", rep, rising) for rep in (0, 1)] + [answer("single-1", 0, rising)]
    theirs = [answer("anchor-1", 1, rising - 1.0, counted=8), replace(answer("single-1", 0, rising), tokens=())]

    none, second, third = beside(ours, [theirs[0], replace(theirs[1], logprobs=np.array([]))])

    assert (none.reference_tokens, none.expected, none.expected_prompt_tokens) == ((), {}, None)
    assert second.reference_tokens == second.tokens
    assert np.array_equal(second.expected[ENDPOINT], second.logprobs - 1.0)
    assert second.expected_prompt_tokens == 8
    assert (third.reference_tokens, third.expected) == ((), {})
    (own,) = own_answers([none, second, third])
    assert (own.tokens, own.prompt_tokens, own.reference_tokens) == (second.tokens, 8, ())


def reference_side(world: World, stack: str = "bf16", *, extra_tokens: int = 0) -> list[Observation]:
    return [without_reference(one) for one in world.run(stack, extra_tokens=extra_tokens)]


def test_a_reference_that_stays_is_said_to_have_moved_once_in_a_hundred() -> None:
    assert not share("moved", references_moved(0.0, 100, count=1_000, seed=3), ALPHA, "").missed


@pytest.mark.parametrize("stack", ["w8-channel", "fp8-e4m3", "w4-g64"])
def test_a_reference_with_other_weights_moved(stack: str) -> None:
    world = World(6)

    said = moved(reference_side(world), reference_side(world, stack), count=20_000)

    assert said is not None
    assert said.startswith("its log-probabilities moved 0.")


def test_a_reference_that_counts_otherwise_moved() -> None:
    world = World(6)

    assert moved(reference_side(world), reference_side(world, extra_tokens=3)) == "it counts +3 tokens a prompt"


def test_a_reference_without_a_past_did_not_move() -> None:
    assert moved([], reference_side(World(6))) is None
    assert moved(reference_side(World(6)), []) is None


def served(*fingerprints: str, model: str = "big-1") -> Served:
    return Served(frozenset({model}), frozenset(fingerprints))


def test_a_name_that_it_never_had_is_said() -> None:
    assert renamed(served("fp_a", "fp_b"), served("fp_b")) is None
    assert renamed(served("fp_a"), served("fp_b")) == "it names system_fingerprint fp_b, and fp_a before"
    assert renamed(served(model="big-1"), served(model="big-2")) == "it names model big-2, and big-1 before"


def test_who_names_nothing_or_each_answer_otherwise_says_nothing_by_it() -> None:
    assert renamed(Served(), served("fp_a")) is None
    assert renamed(served("fp_a"), Served()) is None
    assert renamed(served(*(f"a{n}" for n in range(30))), served(*(f"b{n}" for n in range(30)))) is None


def test_names_of_several_rounds_are_kept_together() -> None:
    rounds = [served("fp_a"), served("fp_b", model="big-2")]

    assert Served.of(one.to_json() for one in rounds) == Served(
        frozenset({"big-1", "big-2"}), frozenset({"fp_a", "fp_b"})
    )
    assert Served.of([{}]) == Served()


def judged(now: list[Observation], past: list[Observation], held: str | None = None) -> Assessment:
    reference = Reference((ENDPOINT,), (ENDPOINT,), {}, endpoint=NAME, held=held)
    return assess(Material(now, past, past, reference), no_baseline_reason="")


def run_beside(world: World, stack: str, other: str = "bf16", *, other_tokens: int = 0) -> list[Observation]:
    """A run of the endpoint, and the answers of a reference that was asked the same."""
    ours = reference_side(world, stack)
    prompts = [(one.item_key, one.rep, expected_of(int(one.item_key.partition("-")[2]))) for one in ours]
    return beside(ours, [world.answer(*prompt, other, other_tokens, 20) for prompt in prompts])


def test_an_endpoint_that_moves_from_a_reference_that_stays_is_drift() -> None:
    world = World(9)

    found = judged(run_beside(world, "fp8-e4m3"), run_beside(world, "bf16"))

    assert found.logprobs.verdict is Verdict.DRIFT
    assert found.logprobs.causes == ()


def test_where_the_reference_moved_only_the_endpoint_s_own_past_speaks_of_it() -> None:
    world = World(10)
    past = run_beside(world, "bf16")

    still = judged(run_beside(world, "bf16", "w4-g64", other_tokens=7), past, held="it moved")
    gone = judged(run_beside(world, "fp8-e4m3", "w4-g64", other_tokens=7), past, held="it moved")

    assert (still.logprobs.verdict, still.accounting.verdict) == (Verdict.INCONCLUSIVE, Verdict.OK)
    assert still.logprobs.reason == "too few answers to see what int8 would do; it moved"
    assert still.fidelity.finding.verdict is Verdict.INCONCLUSIVE
    assert gone.logprobs.verdict is Verdict.DRIFT
    blamed = judged(run_beside(world, "bf16", "w4-g64", other_tokens=7), past)
    assert blamed.accounting.verdict is Verdict.DRIFT


def test_counts_that_are_not_the_reference_s_are_a_standing_finding_by_its_name() -> None:
    world = World(11)

    found = judged(run_beside(world, "bf16", other_tokens=-4), run_beside(world, "bf16", other_tokens=-4))

    assert (found.accounting.verdict, found.accounting.value) == (Verdict.SUSPECT, 4.0)
    assert found.accounting.reason == "counts differ from those of vendor/big"


def test_a_run_would_see_int8_by_its_distance_to_the_reference_alone_and_so_may_be_ok() -> None:
    world = World(12)

    found = judged(run_beside(world, "bf16"), run_beside(world, "bf16"))

    assert found.logprobs.verdict is Verdict.OK
    assert found.logprobs.detectable is not None
    assert found.logprobs.detectable <= 0.071
