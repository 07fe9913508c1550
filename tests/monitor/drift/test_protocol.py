"""A run of the protocol probe against the accepted ones: what moved, how surely, and in which words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from monitor.drift.protocol import EffectSeen, ProtocolFacts, assess_protocol
from monitor.drift.rule import Verdict
from probes.parameters.judgement import Effect
from probes.profile.features import Feature

ACTS, IGNORED, UNCLEAR = EffectSeen(Effect.ACTS, 1e-6), EffectSeen(Effect.IGNORED, 1e-6), EffectSeen(Effect.UNCLEAR)
KIND = "chat, plain"


def stack(times: int = 40, **features: str) -> dict[str, dict[str, dict[str, int]]]:
    shown = {"id": "chatcmpl-hex32", "created": "integer", "system_fingerprint": "fp_one", "envelope_keys": "id,object"}
    return {KIND: {name: {value: times} for name, value in {**shown, **features}.items()}}


FACTS = ProtocolFacts(
    effects={"stop": ACTS, "n": ACTS, "seed": UNCLEAR},
    features=stack(),
    variants={"a": 40},
    prompt_tokens={f"step-{place}": 20 + place for place in range(16)},
)


def test_without_a_past_nothing_is_concluded() -> None:
    found = assess_protocol(FACTS, (), no_past="enrolled")

    assert {(one.verdict, one.reason) for one in found.findings} == {(Verdict.INCONCLUSIVE, "enrolled")}


def test_the_same_again_is_ok() -> None:
    found = assess_protocol(FACTS, [FACTS], no_past="")

    assert [one.verdict for one in found.findings] == [Verdict.OK] * 3
    assert found.before == {"stop": Effect.ACTS, "n": Effect.ACTS}
    assert found.moves == ()


def test_an_effect_is_as_surely_another_one_as_both_findings_are_sure() -> None:
    weak = replace(FACTS, effects={**FACTS.effects, "n": EffectSeen(Effect.ACTS, 1e-3)})
    now = replace(FACTS, effects={**FACTS.effects, "n": IGNORED})

    once, thrice = (assess_protocol(now, [weak] * runs, no_past="").parameters for runs in (1, 3))

    assert (once.verdict, once.adjusted_p) == (Verdict.SUSPECT, pytest.approx(3 * 2 * 1e-3))
    assert (thrice.verdict, thrice.adjusted_p) == (Verdict.DRIFT, pytest.approx(3 * 2 * 1e-6))
    assert thrice.reason == "n acts → ignored"


def test_an_effect_that_is_unclear_now_leaves_the_question_open() -> None:
    now = replace(FACTS, effects={**FACTS.effects, "n": UNCLEAR})

    finding = assess_protocol(now, [FACTS], no_past="").parameters

    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.reason == "unclear now: n"


def test_accepted_runs_that_disagree_say_nothing_of_a_parameter() -> None:
    other = replace(FACTS, effects={**FACTS.effects, "n": IGNORED})

    assert assess_protocol(FACTS, [FACTS, other], no_past="").before == {"stop": Effect.ACTS}


@pytest.mark.parametrize(
    ("changed", "verdict", "words"),
    [
        ({"id": "chatcmpl-uuid"}, Verdict.DRIFT, "id chatcmpl-hex32 → chatcmpl-uuid"),
        ({"system_fingerprint": "fp_two"}, Verdict.SUSPECT, "system_fingerprint fp_one → fp_two"),
        ({"envelope_keys": "id,object,timings"}, Verdict.DRIFT, "envelope_keys +timings"),
        ({"envelope_keys": "object,id"}, Verdict.DRIFT, "envelope_keys in another order"),
    ],
)
def test_a_stack_that_writes_otherwise_is_told_by_what_it_writes(
    changed: dict[str, str], verdict: Verdict, words: str
) -> None:
    now = replace(FACTS, features=stack(**changed))

    found = assess_protocol(now, [FACTS], no_past="")

    assert (found.stack.verdict, found.stack.reason) == (verdict, words)
    assert found.parameters.verdict is found.tokens.verdict is Verdict.OK


def test_a_value_never_seen_in_hundreds_of_answers_is_told_though_it_came_only_twice() -> None:
    features = stack()
    features[KIND]["id"] = {"chatcmpl-hex32": 38, "chatcmpl-uuid": 2}
    now = replace(FACTS, features=features)

    rare, never = (assess_protocol(now, [FACTS] * runs, no_past="").stack for runs in (1, 5))

    assert rare.verdict is Verdict.OK
    assert (never.verdict, never.reason) == (Verdict.SUSPECT, "id chatcmpl-hex32 → chatcmpl-uuid")


POOLS = (
    {"id": "chatcmpl-hex32", "envelope_keys": "id,object", "done": "sent", "error_shape": "object"},
    {"id": "uuid", "envelope_keys": "id,object,timings", "done": "sent", "error_shape": "text"},
)
NEW_POOL = {**POOLS[0], "id": "ulid"}
KINDS = {KIND: 40, "chat, stream": 14, "chat, calls": 9, "refusal": 3}


def balanced(pools: Sequence[Mapping[str, str]], chosen: Iterable[int], size: int) -> ProtocolFacts:
    """A run each of whose connections a balancer gives to the pool that is chosen for it, for `size` responses."""
    found: dict[str, dict[str, Counter[str]]] = {}
    kinds = [kind for kind, times in KINDS.items() for _ in range(times)]
    for start, pool in zip(range(0, len(kinds), size), chosen, strict=False):
        for kind in kinds[start : start + size]:
            for feature, value in pools[pool].items():
                found.setdefault(kind, {}).setdefault(feature, Counter())[value] += 1
    return replace(FACTS, features=found)


@pytest.mark.parametrize("size", [200, 20, 1])
def test_a_balancer_that_gives_runs_or_connections_to_pools_it_had_before_is_no_change(size: int) -> None:
    """By responses, most runs of such a fleet would be drift: a run is one draw of a pool, or a few."""
    rng = np.random.default_rng(size)

    def run() -> ProtocolFacts:
        return balanced(POOLS, rng.integers(0, 2, 200), size)

    def fleet() -> list[ProtocolFacts]:
        """Accepted runs, of which one at least met each pool."""
        return [*(balanced(POOLS, [pool] * 200, size) for pool in (0, 1)), *(run() for _ in range(3))]

    found = [assess_protocol(run(), fleet(), no_past="").stack for _ in range(20)]

    assert {(one.verdict, one.reason) for one in found} == {(Verdict.OK, "")}


def test_what_no_known_pool_writes_is_a_change_whichever_answers() -> None:
    accepted = [balanced(POOLS, [pool] * 200, 200) for pool in (0, 1, 0)]
    everywhere = [{**pool, "done": "missing"} for pool in POOLS]

    new_pool = assess_protocol(balanced([NEW_POOL], [0], 200), accepted, no_past="").stack
    beside = assess_protocol(balanced([*POOLS, NEW_POOL], [0, 1, 2, 2], 20), accepted, no_past="").stack
    changed = assess_protocol(balanced(everywhere, [1], 200), accepted, no_past="").stack

    assert (new_pool.verdict, new_pool.reason) == (Verdict.DRIFT, "id chatcmpl-hex32 → ulid")
    assert (beside.verdict, beside.reason) == (Verdict.DRIFT, "id chatcmpl-hex32 → ulid")
    assert (changed.verdict, changed.reason) == (Verdict.DRIFT, "done sent → missing")


def test_a_pool_is_known_in_kinds_of_answers_that_it_did_not_give_before() -> None:
    accepted = [balanced(POOLS, [pool] * 200, 200) for pool in (0, 1)]
    for kind in ("chat, stream", "chat, calls"):
        accepted[1] = replace(accepted[1], features={**accepted[1].features, kind: {}})

    finding = assess_protocol(balanced(POOLS, [1], 200), accepted, no_past="").stack

    assert (finding.verdict, finding.reason) == (Verdict.OK, "")


def test_features_that_follow_the_load_are_not_compared() -> None:
    quick, slow = (stack(**{Feature.TOKENS_PER_CHUNK.value: value}) for value in ("1", "to 8"))

    assert assess_protocol(replace(FACTS, features=slow), [replace(FACTS, features=quick)], no_past="").moves == ()


def test_other_kinds_of_answers_are_not_compared() -> None:
    other = {"chat, stream": stack(id="another")[KIND]}

    finding = assess_protocol(replace(FACTS, features=other), [FACTS], no_past="").stack

    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.reason == "0 responses of kinds seen before, and 8 are needed"


def test_a_few_prompts_counted_otherwise_are_told_with_how_many() -> None:
    now = replace(FACTS, prompt_tokens={**FACTS.prompt_tokens, "step-3": 99})

    finding = assess_protocol(now, [FACTS], no_past="").tokens

    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.reason == "1 of 16 prompts are counted otherwise than before"


def test_an_endpoint_that_counts_nothing_is_not_judged_by_it() -> None:
    silent = replace(FACTS, prompt_tokens={})

    assert assess_protocol(silent, [silent], no_past="").tokens.verdict is Verdict.INAPPLICABLE
