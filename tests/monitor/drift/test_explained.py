"""What the reference says of causes: on answers that one of its candidates gave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitor.drift.assess import INT8_SHIFT
from monitor.drift.discriminating import Kind
from monitor.drift.explained import Explained, explained, suspects_of
from monitor.drift.findings import Finding
from monitor.drift.interval import Interval
from monitor.drift.material import Material, Reference
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict

ALLOWED, PROFILES, VARIANTS = (
    ("fp32", "bf16"),
    ("w8-channel", "w4-g64", "fp8-e4m3"),
    ("template:none", "system-prompt:none"),
)
CANDIDATES = (*ALLOWED, *PROFILES, *VARIANTS)
SIZES = {"fp32": 0.0, "bf16": 0.01, "w8-channel": 0.07, "w4-g64": 0.45, "fp8-e4m3": 0.15, "template:none": 0.4}
REFERENCE = Reference(ALLOWED, CANDIDATES, {})


def run(gave: str, rng: np.random.Generator, prompts: int = 20) -> list[Observation]:
    found = []
    for prompt in range(prompts):
        own = np.sort(np.random.default_rng(prompt).normal(-4.0, 1.5, 20))[::-1] - 0.5
        expected = {
            name: np.minimum(
                -1e-3, own + SIZES.get(name, 0.4) * np.random.default_rng([prompt, place]).normal(0, 1.2, 20)
            )
            for place, name in enumerate(CANDIDATES)
        }
        tokens = tuple(b"%d" % place for place in range(20))
        values = np.minimum(-1e-3, expected[gave] + rng.normal(0.0, 0.02, 20))
        found.append(Observation(f"anchor-{prompt}", 0, True, tokens, values, None, tokens, expected, 12, 12, None))
    return found


def of(gave: str, reference: Reference | None = REFERENCE) -> Explained:
    rng = np.random.default_rng(5)
    before, now = run("fp32", rng), run(gave, rng)
    moved = float(np.mean([np.abs(one.logprobs - two.logprobs).mean() for one, two in zip(before, now, strict=True)]))
    finding = Finding(Verdict.DRIFT, value=moved, interval=Interval(0.9 * moved, 1.1 * moved, 0.95), target=INT8_SHIFT)
    return explained(Material(now, before, before, reference), finding)


@pytest.mark.parametrize("gave", ["w4-g64", "w8-channel", "template:none"])
def test_what_gave_the_answers_explains_them_best(gave: str) -> None:
    found = of(gave)

    assert max(found.likelihoods, key=lambda name: found.likelihoods[name]) == gave
    assert found.likelihoods[gave] > 10.0
    assert found.likelihoods.keys() == {*PROFILES, *VARIANTS}
    assert found.sizes.keys() == {*PROFILES}
    assert found.ruler is not None
    assert "int8" in found.ruler
    if gave in PROFILES:
        assert max(found.sizes, key=lambda name: found.sizes[name]) == gave


def test_it_is_known_what_tells_the_best_candidates_apart() -> None:
    found = of("w8-channel")
    best = sorted(found.likelihoods, key=lambda name: -found.likelihoods[name])[:4]

    assert found.divergences.keys() == {(one, other) for one in best for other in best if one != other}
    assert all(nats > 0.0 for nats in found.divergences.values())


def test_where_only_what_a_verdict_takes_was_scored_no_likelihoods_are_told() -> None:
    measured = replace(REFERENCE, candidates=("fp32", "bf16", "w8-channel"))
    found = of("w4-g64", measured)

    assert found.likelihoods == {}
    assert found.sizes.keys() == {"w8-channel"}


@pytest.mark.parametrize(
    "reference", [None, replace(REFERENCE, endpoint="vendor/smol"), replace(REFERENCE, held="our side moved")]
)
def test_without_weights_that_stay_nothing_is_explained(reference: Reference | None) -> None:
    assert of("w4-g64", reference) == Explained()


def test_candidates_are_suspects_of_their_kinds() -> None:
    kinds = {one.name: one.kind for one in suspects_of({*PROFILES, *VARIANTS, "fp32-kv-fp8"})}

    assert kinds["w4-g64"] is Kind.WEIGHTS
    assert kinds["template:none"] is Kind.TEMPLATE
    assert kinds["system-prompt:none"] is Kind.SYSTEM_PROMPT
    assert kinds["fp32-kv-fp8"] is Kind.KV_CACHE
    assert {kind.value for kind in Kind} - {Kind.NONE.value} <= kinds.keys()
