"""Several stacks behind one endpoint, told apart through a real connection."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from probes.plan import ProbeKind, Sample
from probes.profile.extract import profile_of, profiles_of
from probes.profile.features import Feature, Profile
from probes.profile.stack import hints
from probes.profile.variants import feature_counts, variant_counts
from tests.endpoints.server import ScriptedServer
from tests.endpoints.stacks import CALLING, Fleet, Stack, hexadecimal
from tests.probes.profile.samples import STREAM, profile
from tests.probes.profile.test_profile import TOOLS
from tests.probes.sending import plan, send, target

OLD = Stack()
NEW = replace(OLD, answer_id=lambda rng: hexadecimal(rng), edit_choice=lambda choice: {**choice, "matched_stop": None})


def answered_by(*stacks: Stack, count: int = 24) -> list[Sample]:
    with ScriptedServer(Fleet(*stacks)) as server:
        plain = send(target(server.base_url), plan(count, probe=ProbeKind.PROTOCOL)).samples
        streams = send(target(server.base_url), plan(count, probe=ProbeKind.EVALS, stream=True)).samples
    return plain + streams


def hashes_by_kind(profiles: list[Profile]) -> Counter[str]:
    return Counter(kind for kind, _ in {(found.kind, found.hash) for found in profiles})


def test_one_stack_is_one_variant_whatever_was_asked() -> None:
    samples = answered_by(OLD)
    profiles = [found for _, found in profiles_of(samples)]

    assert len(profiles) == len(samples) == 48
    assert hashes_by_kind(profiles) == {"chat, plain": 1, "chat, stream": 1}
    assert len(variant_counts(profiles)) == 1


def test_two_stacks_are_two_variants_and_each_sample_is_of_one() -> None:
    samples = answered_by(OLD, NEW)
    profiles = [found for _, found in profiles_of(samples)]
    old, new = (variant_counts([found for _, found in profiles_of(answered_by(one, count=1))]) for one in (OLD, NEW))

    shares = variant_counts(profiles)
    assert set(shares) == {*old, *new}
    assert min(shares.values()) >= 10
    assert hashes_by_kind(profiles) == {"chat, plain": 2, "chat, stream": 2}
    by_sample = [profile_of(sample) for sample in samples]
    assert Counter(found.variant for found in by_sample if found) == shares


def test_the_feature_that_tells_them_apart_is_counted() -> None:
    profiles = [found for _, found in profiles_of(answered_by(OLD, NEW))]

    several = {
        feature
        for features in feature_counts(profiles).values()
        for feature, values in features.items()
        if len(values) > 1
    }
    assert several == {Feature.ID, Feature.CHOICE_KEYS}


def test_a_stack_is_named_with_its_reasons() -> None:
    (first,) = hints([profile(OLD, TOOLS, CALLING)])
    sglang = replace(NEW, call_id=lambda rng: f"call_{hexadecimal(rng, 24)}")
    (other, *rest) = hints([profile(sglang, TOOLS, CALLING)])

    assert (first.stack, first.reasons) == ("vLLM", ("call ids begin with chatcmpl-tool-",))
    assert other.stack == "SGLang"
    assert len(other.reasons) == 3
    assert rest == []


def test_llama_cpp_and_a_gateway_before_it_are_both_named() -> None:
    behind = replace(
        OLD,
        fingerprint="b6021-5e1c2a7f",
        edit_chunk=lambda chunk: {**chunk, "timings": {}},
        comment="OPENROUTER PROCESSING",
    )

    assert [hint.stack for hint in hints([profile(behind, STREAM)])] == [
        "llama.cpp",
        "OpenRouter",
    ]


@pytest.mark.parametrize(("more", "stack"), [({}, "llama-cpp-python"), ({"openai-version": "2020-10-01"}, "OpenAI")])
def test_a_header_that_others_copy_names_nobody_by_itself(more: dict[str, str], stack: str) -> None:
    stamped = replace(OLD, headers={"openai-processing-ms": "12", **more})
    assert [hint.stack for hint in hints([profile(stamped, STREAM)])] == [stack]


def test_a_stack_without_marks_is_not_named() -> None:
    assert hints([profile(replace(OLD, headers={}), STREAM)]) == ()
