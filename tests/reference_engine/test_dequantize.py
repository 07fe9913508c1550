"""Every block format against the `gguf` package, bit for bit."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize as package_dequantize

from reference_engine.weights.dequantize import dequantize
from reference_engine.weights.ggml import ggml_type
from reference_engine.weights.gguf import open_gguf
from reference_engine.weights.gguf_source import GGUFSource

# Where the float16 scales of a block lie; the rest of a block may hold any bits.
SCALES_AT = {
    "Q4_0": (0,),
    "Q4_1": (0, 2),
    "Q5_0": (0,),
    "Q5_1": (0, 2),
    "Q8_0": (0,),
    "Q4_K": (0, 2),
    "Q5_K": (0, 2),
    "Q6_K": (208,),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "IQ4_NL": (0,),
    "IQ4_XS": (0,),
}


def random_blocks(name: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(len(name))
    _, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    if name in ("F32", "F16"):
        dtype = np.float32 if name == "F32" else np.float16
        return rng.normal(size=count).astype(dtype).view(np.uint8).reshape(count, block_bytes)
    if name == "BF16":
        return (rng.normal(size=count).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    blocks = rng.integers(0, 256, (count, block_bytes), dtype=np.uint8)
    for at in SCALES_AT[name]:
        blocks[:, at : at + 2] = rng.normal(size=(count, 1)).astype(np.float16).view(np.uint8)
    return blocks


@pytest.mark.parametrize("name", ["F32", "F16", "BF16", *SCALES_AT])
def test_a_format_is_unpacked_bit_for_bit_as_the_package_does(name: str) -> None:
    kind = ggml_type(int(GGMLQuantizationType[name]))
    assert kind is not None
    blocks = random_blocks(name, 40_000 if kind.block_size == 32 else 700)
    out = torch.full((blocks.size // kind.block_bytes * kind.block_size,), torch.nan)

    dequantize(memoryview(bytearray(blocks.tobytes())), kind, out)

    expected = package_dequantize(blocks.reshape(-1, kind.block_bytes), GGMLQuantizationType[name])
    assert np.array_equal(out.numpy().view(np.uint32), expected.ravel().view(np.uint32))


@pytest.mark.parametrize("type_id", [4, 16_000, int(GGMLQuantizationType.I32)])
def test_a_type_nobody_can_unpack_is_none(type_id: int) -> None:
    assert ggml_type(type_id) is None


@pytest.mark.model
def test_every_tensor_of_the_bundled_model_is_unpacked_bit_for_bit(bundled_model: Path) -> None:
    source = GGUFSource(open_gguf(bundled_model))
    tensors = gguf.GGUFReader(bundled_model).tensors
    assert len(tensors) == 272

    for tensor in tensors:
        out = torch.empty(tuple(int(size) for size in reversed(tensor.shape)))
        source.read_stored(tensor.name, out)
        expected = package_dequantize(tensor.data, tensor.tensor_type)
        assert np.array_equal(out.numpy().view(np.uint32), expected.view(np.uint32)), tensor.name
