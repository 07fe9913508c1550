"""The instances of an epoch: how many, which stay, which are new, and whose they are."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.tools.case import Category, Trigger
from probes.tools.families.reasoning import TEMPLATE_SWITCH
from probes.tools.families.suite import FAMILIES_VERSION, Instance, candidates, instances, shares
from tests.probes.tools.families.drawn import SEED, drawn, pool

# n and r of PROBES.md 5.1; T15 are loops.
TABLE = {
    "T1": (20, 5), "T2": (20, 5), "T3": (60, 8), "T4": (20, 5), "T5": (30, 5), "T6": (20, 5), "T7": (20, 5),
    "T8": (6, 5), "T9": (12, 5), "T10": (10, 5), "T11": (6, 3), "T12": (4, 3), "T13": (8, 3), "T14": (10, 3),
    "T16": (8, 3),
}  # fmt: skip


def keys(found: tuple[Instance, ...], *, anchors: bool | None = None) -> set[str]:
    return {one.case.key for one in found if anchors is None or one.case.anchor is anchors}


def test_every_category_has_its_instances_and_repeats() -> None:
    counts = Counter((one.case.category, one.case.reps) for one in drawn(0))

    assert {(str(category), reps): n for (category, reps), n in counts.items()} == {
        (category, reps): n for category, (n, reps) in TABLE.items()
    }


def test_a_fifth_stays_in_each_category_and_everything_else_is_new() -> None:
    one, two = drawn(0), drawn(1)

    assert keys(one, anchors=True) == keys(two, anchors=True)
    assert not keys(one, anchors=False) & keys(two, anchors=False)
    for category, (n, _) in TABLE.items():
        stay = sum(found.case.anchor for found in one if found.case.category == category)
        assert abs(stay - n / 5) <= 0.5
    assert sum(found.case.anchor for found in one) == 51


def test_an_installation_shares_nothing_with_another() -> None:
    assert not keys(drawn(0)) & keys(drawn(0, bytes(32)))


def test_no_case_stands_twice_in_an_epoch() -> None:
    for seed in (SEED, bytes(32)):
        assert len(keys(drawn(0, seed))) == len(drawn(0, seed))
        assert len(keys(pool(seed))) == 400


@settings(max_examples=2, deadline=None)
@given(st.binary(min_size=16, max_size=32), st.integers(0, 4000))
def test_equal_seeds_and_epochs_give_equal_instances(seed: bytes, epoch: int) -> None:
    assert instances(seed, epoch) == instances(seed, epoch)


def test_the_families_of_this_version_never_change() -> None:
    """Anchors are compared over years. Whoever changes a family raises FAMILIES_VERSION and pins the new hash here."""
    everything = "\n".join(sorted(keys(drawn(0)) | keys(pool())))

    assert (FAMILIES_VERSION, hashlib.sha256(everything.encode()).hexdigest()[:8]) == ("1", "bc80d62d")


def test_all_families_of_a_category_are_met_in_an_epoch() -> None:
    found = {(one.case.category, one.case.family) for one in drawn(0)}

    for share in shares():
        assert {family.name for family in share.families} == {name for key, name in found if key == share.category}


def test_reasoning_is_asked_for_and_forbidden_only_with_a_switch() -> None:
    without = [one.case.oracle.reasoning for one in drawn(0) if one.case.category is Category.T13]
    switched = [one.case for one in instances(SEED, 0, switch=TEMPLATE_SWITCH) if one.case.category is Category.T13]

    assert set(without) == {None}
    assert Counter(case.oracle.reasoning for case in switched) == {"present": 2, "absent": 2, None: 4}
    thinks = {case.oracle.reasoning: case.request["chat_template_kwargs"] for case in switched if case.oracle.reasoning}
    assert (thinks["present"]["enable_thinking"], thinks["absent"]["enable_thinking"]) == (True, False)


def test_ambiguous_instances_go_round_the_pool() -> None:
    some = pool()[:108]

    def taken(epoch: int, *, anchors: bool) -> set[str]:
        found = instances(SEED, epoch, pool=some)
        return {one.case.key for one in found if one.case.category is Category.T3 and one.case.anchor is anchors}

    assert taken(7, anchors=True) == taken(8, anchors=True)
    assert len(taken(7, anchors=True)) == 12
    assert taken(7, anchors=False) | taken(8, anchors=False) | taken(7, anchors=True) == {one.case.key for one in some}


@pytest.mark.parametrize("size", [0, 1, 13, 61])
def test_a_small_pool_gives_what_it_has(size: int) -> None:
    some = pool()[:size]
    found = [one.case.key for one in instances(SEED, 3, pool=some) if one.case.category is Category.T3]

    assert len(found) == len(set(found)) == min(size, 60)


def test_a_pool_that_loses_some_keeps_its_other_anchors() -> None:
    some = pool()[::2]
    before = keys(drawn(0), anchors=True)
    after = keys(instances(SEED, 0, pool=some), anchors=True)

    assert before - keys(pool()) <= after
    assert before & keys(some) <= after


def test_a_new_generation_of_candidates_is_new() -> None:
    assert not keys(pool()) & keys(candidates(SEED, 1))


def test_requests_are_no_larger_than_their_category_needs() -> None:
    sizes = {one.case.key: len(json.dumps(one.case.request, ensure_ascii=False).encode()) for one in drawn(0)}
    large = {one.case.family for one in drawn(0) if sizes[one.case.key] > 6_000}

    assert large <= {"long-list-32", "long-list-64", "prose-8k", "log-6k", "different-16"}
    assert max(sizes.values()) < 40_000
    assert sum(sizes.values()) < 800_000


def test_no_request_says_what_the_client_says() -> None:
    for one in drawn(0):
        assert not {"model", "stream", "stream_options"} & one.case.request.keys()
        where_calling_is_the_question = one.case.category in ("T1", "T2", "T3", "T4", "T9")
        if not one.case.oracle.rejected:
            assert one.case.request["temperature"] == (1 if where_calling_is_the_question else 0)
            assert one.case.request["max_tokens"] >= 60
        else:
            assert not {"temperature", "max_tokens"} & one.case.request.keys()


def test_triggers_are_those_of_the_categories() -> None:
    must = {one.case.category for one in drawn(0) if one.case.oracle.trigger is Trigger.MUST}
    must_not = {one.case.category for one in drawn(0) if one.case.oracle.trigger is Trigger.MUST_NOT}

    assert must == {f"T{number}" for number in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)}
    assert must_not == {"T2", "T10", "T16"}
