"""Round-to-nearest weight formats: levels, errors, groups with a ragged end, and which tensors they touch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from reference_engine import PROFILES, NumericsProfile
from reference_engine.model.tensors import ModelWeights
from reference_engine.weights.quantize import alteration
from reference_engine.weights.safetensors import SafetensorsSource
from reference_engine.weights.store import WeightStore, altered_weights, read_weights
from tests.reference_engine.tiny_models import TinyModel

ALTERING = [profile for profile in PROFILES.values() if profile.weights != "as-stored"]
MATRICES = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.integers(1, 150)),
    elements=st.floats(-8, 8, width=32).map(lambda value: 0.0 if abs(value) < 1e-6 else value),
)


def groups(weight: torch.Tensor, size: int) -> list[torch.Tensor]:
    return [part for row in weight for part in torch.split(row, size)]


@pytest.mark.parametrize("profile", ALTERING, ids=lambda profile: profile.name)
@given(matrix=MATRICES)
def test_altering_keeps_shape_signs_zeros_and_is_finite(profile: NumericsProfile, matrix: np.ndarray) -> None:
    weight = torch.from_numpy(matrix)

    altered = alteration(profile)(weight)

    assert altered.shape == weight.shape
    assert altered.dtype == torch.float32
    assert torch.isfinite(altered).all()
    assert (altered * weight >= 0).all()
    assert (altered[weight == 0] == 0).all()
    assert torch.equal(weight, torch.from_numpy(matrix))


@given(matrix=MATRICES)
def test_int8_per_channel_is_within_half_a_step_of_its_row(matrix: np.ndarray) -> None:
    weight = torch.from_numpy(matrix)
    steps = weight.abs().amax(dim=1, keepdim=True) / 127

    altered = alteration(PROFILES["w8-channel"])(weight)

    assert ((altered - weight).abs() <= steps * 0.5001).all()
    assert all(len(set(row.tolist())) <= 255 for row in altered)


@given(matrix=MATRICES)
def test_int8_per_tensor_is_within_half_a_step_of_the_whole(matrix: np.ndarray) -> None:
    weight = torch.from_numpy(matrix)

    altered = alteration(PROFILES["w8-tensor"])(weight)

    assert ((altered - weight).abs() <= weight.abs().max() / 127 * 0.5001).all()


@given(matrix=MATRICES)
def test_fp8_keeps_three_bits_of_mantissa_down_to_its_smallest_step(matrix: np.ndarray) -> None:
    weight = torch.from_numpy(matrix)
    largest = weight.abs().amax(dim=1, keepdim=True)

    altered = alteration(PROFILES["fp8-e4m3"])(weight)

    smallest_step = largest / 448 * 2.0**-9
    assert ((altered - weight).abs() <= torch.maximum(weight.abs() / 16, smallest_step / 2) * 1.0001).all()
    assert torch.allclose(altered.abs().amax(dim=1, keepdim=True), largest)


@given(matrix=MATRICES)
def test_int4_groups_hold_fifteen_levels_of_their_own_scale(matrix: np.ndarray) -> None:
    altered = alteration(PROFILES["w4-g64"])(torch.from_numpy(matrix))

    for before, after in zip(groups(torch.from_numpy(matrix), 64), groups(altered, 64), strict=True):
        assert ((after - before).abs() <= before.abs().max() / 7 * 0.5001).all()
        assert len(set(after.tolist())) <= 15


@given(matrix=MATRICES)
def test_nf4_groups_take_the_nearest_of_sixteen_normal_quantiles(matrix: np.ndarray) -> None:
    altered = alteration(PROFILES["nf4"])(torch.from_numpy(matrix))

    for before, after in zip(groups(torch.from_numpy(matrix), 64), groups(altered, 64), strict=True):
        scale = before.abs().max()
        if scale > 0:
            distance = (before / scale).unsqueeze(1) - nf4_levels()
            assert torch.allclose((after / scale - before / scale).abs(), distance.abs().amin(dim=1), atol=1e-6)


def nf4_levels() -> torch.Tensor:
    """The levels from their definition: quantiles of a normal distribution, zero included (arXiv 2305.14314)."""
    outermost = 0.9677083
    positive = stats.norm.ppf(np.linspace(outermost, 0.5, 9)[:-1])
    negative = -stats.norm.ppf(np.linspace(outermost, 0.5, 8)[:-1])
    levels = np.sort(np.concatenate((positive, [0.0], negative)))
    return torch.from_numpy(levels / levels.max()).float()


@pytest.fixture(scope="module")
def stored(tiny_llama: TinyModel) -> ModelWeights:
    return read_weights(SafetensorsSource(tiny_llama.folder))


def test_each_matrix_is_altered_by_itself(tiny_llama: TinyModel, stored: ModelWeights) -> None:
    profile = PROFILES["w8-tensor"]
    altered = altered_weights(SafetensorsSource(tiny_llama.folder).config, stored, profile)
    state = tiny_llama.reference.state_dict()

    for number, layer in enumerate(altered.layers):
        prefix = f"model.layers.{number}."
        names = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
        joined = torch.cat([alteration(profile)(state[f"{prefix}{name}.weight"]) for name in names])
        assert torch.equal(layer.qkv, joined)
        both = [alteration(profile)(state[f"{prefix}mlp.{name}_proj.weight"]) for name in ("gate", "up")]
        assert torch.equal(layer.gate_up, torch.cat(both))
        assert torch.equal(layer.down, alteration(profile)(state[f"{prefix}mlp.down_proj.weight"]))
        assert torch.equal(layer.output, alteration(profile)(state[f"{prefix}self_attn.o_proj.weight"]))


@pytest.mark.parametrize("profile", ALTERING, ids=lambda profile: profile.name)
def test_embedding_head_and_norms_are_altered_by_bf16_only(
    tiny_llama: TinyModel, stored: ModelWeights, profile: NumericsProfile
) -> None:
    altered = altered_weights(SafetensorsSource(tiny_llama.folder).config, stored, profile)

    assert altered.head is altered.embedding
    if profile.weights != "bf16":
        assert altered.embedding is stored.embedding
        assert all(a.attn_norm is b.attn_norm for a, b in zip(altered.layers, stored.layers, strict=True))
        return
    vectors = [altered.embedding, altered.final_norm, *(layer.ffn_norm for layer in altered.layers)]
    assert all((values.view(torch.int32) & 0xFFFF).count_nonzero() == 0 for values in vectors)
    assert torch.equal(altered.layers[0].qkv, stored.layers[0].qkv.to(torch.bfloat16).float())


def test_the_last_used_profiles_stay_loaded(tiny_llama: TinyModel) -> None:
    store = WeightStore(SafetensorsSource(tiny_llama.folder), kept=2)
    plain, eight, four, normal = (PROFILES[name] for name in ("fp32", "w8-channel", "w4-g64", "nf4"))
    first = {profile.name: store.weights(profile) for profile in (plain, eight, four)}

    assert store.weights(eight) is first["w8-channel"]
    store.weights(normal)

    assert store.weights(plain) is first["fp32"]
    assert store.weights(eight) is first["w8-channel"]
    again = store.weights(four)
    assert again is not first["w4-g64"]
    assert torch.equal(again.layers[2].down, first["w4-g64"].layers[2].down)


def test_profiles_that_alter_weights_alike_share_them(tiny_llama: TinyModel) -> None:
    store = WeightStore(SafetensorsSource(tiny_llama.folder), kept=2)
    rounding = replace(PROFILES["nf4"], name="nf4-bf16", activations="bf16", kv="bf16")

    assert store.weights(rounding) is store.weights(PROFILES["nf4"])
