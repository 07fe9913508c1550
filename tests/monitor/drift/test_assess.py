from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.drift.assess import assess as judged
from monitor.drift.assess import explain, needs_explanation
from monitor.drift.findings import Assessment
from monitor.drift.material import Material, without_cached
from monitor.drift.rule import Verdict
from tests.monitor.drift.synthetic import UNLISTED_TEXT, World, material

WHY = "not enrolled"


def assess(material: Material, *, no_baseline_reason: str) -> Assessment:
    """Both steps of a judgement, as a check takes them."""
    found = judged(material, no_baseline_reason=no_baseline_reason)
    return explain(material, found) if needs_explanation(found) else found


def test_unchanged_endpoint_is_ok_and_could_have_seen_int8() -> None:
    world = World(1)
    found = assess(material(world.run("bf16"), world.run("bf16")), no_baseline_reason=WHY)
    assert found.logprobs.verdict is Verdict.OK
    assert found.logprobs.detectable is not None
    assert found.logprobs.target is not None
    assert found.logprobs.detectable <= found.logprobs.target
    assert found.accounting.verdict is Verdict.OK
    assert (found.fidelity.nearest, found.fidelity.finding.verdict) == ("bf16", Verdict.OK)
    assert found.logprobs.causes == ()


@pytest.mark.parametrize("stack", ["w8-channel", "fp8-e4m3", "nf4", "w4-g64", "w8-tensor"])
def test_changed_weights_are_drift_with_the_profile_named(stack: str) -> None:
    world = World(2)
    found = assess(material(world.run(stack), world.run("bf16")), no_baseline_reason=WHY)
    assert found.logprobs.verdict is Verdict.DRIFT
    assert found.logprobs.causes[0].name == stack
    assert found.logprobs.causes[0].weight > 0.9
    assert found.accounting.verdict is Verdict.OK
    assert found.fidelity.nearest == stack


def test_listed_template_change_is_named_by_its_variant() -> None:
    world = World(3)
    found = assess(
        material(world.run("system-prompt:none", extra_tokens=-20), world.run("bf16")), no_baseline_reason=WHY
    )
    assert found.logprobs.causes[0].name == "system-prompt:none"
    assert found.accounting.verdict is Verdict.DRIFT
    assert found.accounting.value == -20


def test_unlisted_system_prompt_is_named_by_its_token_count() -> None:
    world = World(4)
    found = assess(material(world.run(UNLISTED_TEXT, extra_tokens=7), world.run("bf16")), no_baseline_reason=WHY)
    assert found.logprobs.verdict is Verdict.DRIFT
    assert found.logprobs.causes[0].name == "system-prompt"
    assert found.accounting.causes[0].name == "system-prompt"


def test_unlisted_weights_are_not_taken_for_a_template_when_counts_agree() -> None:
    world = World(5)
    found = assess(material(world.run(UNLISTED_TEXT), world.run("bf16")), no_baseline_reason=WHY)
    assert found.logprobs.causes[0].name == "weights-unlisted"


def test_first_run_enrols_and_is_judged_against_the_reference_only() -> None:
    found = assess(material(World(6).run("nf4"), []), no_baseline_reason="enrolled")
    assert (found.logprobs.verdict, found.logprobs.reason) == (Verdict.INCONCLUSIVE, "enrolled")
    assert found.fidelity.finding.verdict is Verdict.SUSPECT
    assert found.fidelity.nearest == "nf4"
    assert found.accounting.verdict is Verdict.OK


def test_standing_offset_to_the_reference_is_no_drift() -> None:
    world = World(7)
    found = assess(material(world.run("nf4"), world.run("nf4")), no_baseline_reason=WHY)
    assert found.logprobs.verdict is Verdict.OK
    assert found.fidelity.finding.verdict is Verdict.SUSPECT


def test_standing_token_offset_is_a_finding_and_no_drift() -> None:
    world = World(8)
    found = assess(
        material(world.run("bf16", extra_tokens=1), world.run("bf16", extra_tokens=1)), no_baseline_reason=WHY
    )
    assert found.accounting.verdict is Verdict.SUSPECT
    assert found.accounting.p is not None
    assert found.accounting.p > 0.5
    assert found.logprobs.verdict is Verdict.OK


def test_move_back_to_the_claimed_profile_is_drift_too() -> None:
    world = World(9)
    found = assess(material(world.run("bf16"), world.run("nf4")), no_baseline_reason=WHY)
    assert found.logprobs.verdict is Verdict.DRIFT
    assert found.logprobs.causes[0].name == "bf16"
    assert found.fidelity.finding.verdict is Verdict.OK


def test_few_answers_are_inconclusive_not_ok() -> None:
    world = World(10)
    found = assess(
        material(world.run("bf16", anchors=2, singles=3), world.run("bf16", anchors=2, singles=3)),
        no_baseline_reason=WHY,
    )
    assert found.logprobs.verdict is Verdict.INCONCLUSIVE
    assert found.logprobs.detectable == float("inf")


def test_no_log_probabilities_is_inapplicable_never_a_pass() -> None:
    world = World(11)
    mute = [replace(o, tokens=(), logprobs=o.logprobs[:0]) for o in world.run("bf16")]
    found = assess(material(mute, world.run("bf16")), no_baseline_reason=WHY)
    assert found.logprobs.verdict is Verdict.INAPPLICABLE
    assert found.fidelity.finding.verdict is Verdict.INAPPLICABLE
    assert found.accounting.verdict is Verdict.OK


def test_no_usage_is_inapplicable_accounting() -> None:
    world = World(12)
    silent = [replace(o, prompt_tokens=None) for o in world.run("bf16")]
    found = assess(material(silent, world.run("bf16")), no_baseline_reason=WHY)
    assert found.accounting.verdict is Verdict.INAPPLICABLE


def test_without_a_reference_drift_is_judged_and_fidelity_is_inapplicable() -> None:
    world = World(13)
    new = world.run("nf4", anchors=20, singles=0)
    old = world.run("bf16", anchors=20, singles=0)
    bare = [
        [replace(o, reference_tokens=(), expected={}, expected_prompt_tokens=None) for o in run] for run in (new, old)
    ]
    found = assess(Material(bare[0], bare[1], [], None), no_baseline_reason=WHY)
    assert found.logprobs.verdict is Verdict.DRIFT
    assert found.fidelity.finding.verdict is Verdict.INAPPLICABLE
    assert found.accounting.verdict is Verdict.OK


def test_other_reference_does_not_enter_the_comparison_by_distance() -> None:
    """After an upgrade of our own engine the endpoint's past is compared through its anchors only."""
    world = World(14)
    shifted = [
        replace(o, expected={name: values + 1.0 for name, values in o.expected.items()}) for o in world.run("bf16")
    ]
    new = world.run("bf16")
    found = assess(Material(new, shifted, [], material(new, []).reference), no_baseline_reason=WHY)
    assert found.logprobs.verdict in (Verdict.OK, Verdict.INCONCLUSIVE)


def test_replayed_answers_of_a_cache_count_once() -> None:
    run = World(15).run("bf16", anchors=3, singles=2)
    cached = [replace(o, response_id=o.item_key) for o in run]
    assert len(without_cached(cached)) == len(run) - 3
    constant = [replace(o, response_id="chatcmpl-0") for o in run]
    assert without_cached(constant) == constant
    assert without_cached(run) == run


def test_assessment_is_the_same_when_replayed() -> None:
    world = World(16)
    new, old = world.run("fp8-e4m3"), world.run("bf16")
    assert assess(material(new, old), no_baseline_reason=WHY) == assess(material(new, old), no_baseline_reason=WHY)
