"""Keys and values as bytes of a page: what each format keeps, how many bytes it takes, and where runs may lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference_engine.forward.native_forward import native_layer_bytes
from reference_engine.forward.pages import Record, Runs, page_bytes
from reference_engine.model.config import ModelConfig
from reference_engine.native.library import padded
from reference_engine.profile import KVFormat
from tests.reference_engine.forward.sequences import EVERY_PROFILE, stored
from tests.reference_engine.tiny_models import TinyModel


@pytest.fixture(scope="module")
def config(tiny_llama: TinyModel) -> ModelConfig:
    return stored(tiny_llama)[1]


def test_a_page_takes_as_many_bytes_as_its_format_has(config: ModelConfig) -> None:
    values = 16 * config.n_layers * 2 * config.kv_size
    scales = 16 * config.n_layers * 2 * config.n_kv_heads * 4
    sizes = {name: page_bytes(config, profile) for name, profile in EVERY_PROFILE.items()}

    assert sizes["fp64"] == 8 * values
    assert sizes["fp32"] == sizes["w4-g64"] == 4 * values
    assert sizes["bf16"] == sizes["w8a8"] == 2 * values
    assert sizes["fp32-kv-fp8"] == values
    assert sizes["fp32-kv-int8"] == values + scales


def test_the_kernels_pages_take_as_many_bytes_as_the_format_has(config: ModelConfig) -> None:
    values = 16 * 2 * config.n_kv_heads * padded(config.head_dim)
    sizes = {name: native_layer_bytes(config, EVERY_PROFILE[name]) for name in ("fp32", "w4-g64", "bf16", "w8a8")}

    assert sizes["fp32"] == sizes["w4-g64"] == 4 * values
    assert sizes["bf16"] == sizes["w8a8"] == 2 * values


@pytest.mark.parametrize(
    ("kv", "relative"), [("fp64", 0.0), ("fp32", 0.0), ("bf16", 2.0**-8), ("fp8-e4m3", 2.0**-4), ("int8", 0.0)]
)
def test_values_come_back_as_near_as_the_format_allows(config: ModelConfig, kv: KVFormat, relative: float) -> None:
    torch.manual_seed(0)
    keys, values = torch.randn(2, 9, config.n_kv_heads, config.head_dim)
    record = Record(config, kv)

    packed = record.pack(keys, values)
    again = record.unpack(packed, torch.float32)

    assert packed.shape == (9, record.size)
    for before, after in zip((keys, values), again, strict=True):
        step = before.abs().amax(dim=2, keepdim=True) / 127 if kv == "int8" else 0.0
        smallest = 2.0**-10 if kv == "fp8-e4m3" else 0.0
        assert ((after - before).abs() <= before.abs() * relative + step * 0.5001 + smallest).all()
    assert torch.equal(record.pack(*again), packed) or kv == "int8"


def test_fp8_ends_at_its_largest_value_and_int8_keeps_zeros(config: ModelConfig) -> None:
    far = torch.full((1, config.n_kv_heads, config.head_dim), -1e6)
    fp8, int8 = Record(config, "fp8-e4m3"), Record(config, "int8")

    assert torch.equal(fp8.unpack(fp8.pack(far, -far), torch.float32)[1], torch.full_like(far, 448.0))
    assert torch.equal(int8.unpack(int8.pack(0 * far, far), torch.float32)[0], 0 * far)


def test_odd_shapes_are_filled_up_to_whole_words(config: ModelConfig) -> None:
    odd = replace(config, n_kv_heads=1, head_dim=6)
    record = Record(odd, "int8")
    keys, values = torch.randn(2, 3, 1, 6)

    assert record.size == 24  # 12 values, two scales, 4 bytes of filling
    assert (record.unpack(record.pack(keys, values), torch.float32)[1] - values).abs().max() < 0.02


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6, unique=True), st.sampled_from([8, 24, 64, 96]))
def test_runs_are_written_where_they_are_read_and_nowhere_else(places: list[int], grain: int) -> None:
    """At offsets that share no more than `grain` with the size of a run."""
    size, layer_bytes = 48, 144
    starts = np.array([place * (size + layer_bytes) + grain for place in places], dtype=np.int64)
    arena = torch.arange(10_000, dtype=torch.int64).to(torch.uint8)
    expected = arena.clone()
    data = torch.randint(0, 256, (len(places), size), dtype=torch.uint8)
    for start, run in zip(starts.tolist(), data, strict=True):
        expected[start + 2 * layer_bytes : start + 2 * layer_bytes + size] = run

    runs = Runs.at(arena, starts, size, layer_bytes)
    runs.write(2, data)

    assert torch.equal(arena, expected)
    assert torch.equal(runs.read(2), data)


def test_pages_at_odd_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match="multiples of 8 bytes"):
        Runs.at(torch.zeros(100, dtype=torch.uint8), np.array([12]), 16, 16)
