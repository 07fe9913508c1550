"""Profiles against the published figures of DETECTION.md, Table D, and the recipes' identity."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from reference_engine import PROFILES, NumericsProfile, TokenDistribution
from reference_engine.engine import Engine
from reference_engine.ops.formats import rounded
from reference_engine.profile import FURTHER_PROFILES

TABLE_D = {
    "bf16": 0.045,
    "w8-channel": 0.071,
    "w8-tensor": 0.296,
    "fp8-e4m3": 0.154,
    "nf4": 0.46,
    "w4-g64": 0.607,
}


def top_difference(a: TokenDistribution, b: TokenDistribution) -> float:
    """LT's statistic for one prompt: the mean absolute difference over the union of both tops.

    A token that one side does not list is taken to have that side's smallest listed log-probability (the rule of
    arXiv 2512.03816, which the table's figures follow: an endpoint shows nothing below its top).
    """
    ours, theirs = dict(a.top), dict(b.top)
    lowest, their_lowest = min(ours.values()), min(theirs.values())
    union = ours.keys() | theirs.keys()
    return sum(abs(ours.get(id_, lowest) - theirs.get(id_, their_lowest)) for id_ in union) / len(union)


@pytest.fixture(scope="module")
def prompts(engine: Engine) -> list[Sequence[int]]:
    """100 chats of one user word that is one token, drawn at random."""
    vocabulary = [engine.token_bytes(id_) for id_ in range(engine.describe().vocab_size)]
    words = [word.decode() for word in vocabulary if re.fullmatch(rb"[a-z]{2,}", word)]
    drawn = random.Random(20261129).sample(words, 100)
    return [engine.render([{"role": "user", "content": word}]).ids for word in drawn]


@pytest.fixture(scope="module")
def in_fp32(engine: Engine, prompts: list[Sequence[int]]) -> list[TokenDistribution]:
    return engine.next_tokens(prompts)


@pytest.mark.model
@pytest.mark.parametrize("name", TABLE_D)
def test_a_profile_moves_first_tokens_as_far_as_table_d_says(
    engine: Engine, prompts: list[Sequence[int]], in_fp32: list[TokenDistribution], name: str
) -> None:
    altered = engine.next_tokens(prompts, profile=name)

    moved = np.mean([top_difference(a, b) for a, b in zip(altered, in_fp32, strict=True)])

    assert moved == pytest.approx(TABLE_D[name], rel=0.35)


def test_every_profile_of_the_table_is_registered_and_no_two_are_the_same_recipe() -> None:
    every = PROFILES | FURTHER_PROFILES

    assert set(PROFILES) == {"fp32", *TABLE_D}
    assert set(FURTHER_PROFILES) == {"w8a8", "fp32-kv-fp8", "fp32-kv-int8", "fp64"}
    assert all(profile.name == name for name, profile in every.items())
    assert len({profile.digest for profile in every.values()}) == len(every)
    assert [profile.name for profile in every.values() if profile.oracle] == ["fp64"]


def test_digests_stay_what_they_were_when_baselines_were_stored_under_them() -> None:
    assert {name: profile.digest[:8] for name, profile in PROFILES.items()} == {
        "fp32": "79dfaeda",
        "bf16": "406c0321",
        "w8-channel": "65d98659",
        "w8-tensor": "2d8bc297",
        "fp8-e4m3": "4fa257a4",
        "nf4": "f45d2ee1",
        "w4-g64": "ff2dafa1",
    }


def test_a_digest_covers_the_recipe_and_not_its_name() -> None:
    profile = PROFILES["nf4"]

    assert replace(profile, name="other").digest == profile.digest
    changes = [{"group_size": 32}, {"kv": "bf16"}, {"activations": "bf16"}, {"weights": "bf16"}]
    assert len({profile.digest, *(replace(profile, **change).digest for change in changes)}) == 5  # type: ignore[arg-type]
    assert NumericsProfile("fp32", weights="as-stored").canonical_json() == (
        '{"accumulation":"fp32","activations":"fp32","group_size":null,"kv":"fp32","weights":"as-stored"}'
    )


def test_rounding_to_bf16_keeps_eight_bits() -> None:
    x = torch.randn(1000) * 10.0 ** torch.randint(-5, 6, (1000,))

    near = rounded(x, "bf16")

    assert torch.equal(near, rounded(near, "bf16"))
    assert (near.view(torch.int32) & 0xFFFF).count_nonzero() == 0
    assert ((near - x).abs() <= x.abs() * 2.0**-8).all()
    assert rounded(x, "fp32") is x
