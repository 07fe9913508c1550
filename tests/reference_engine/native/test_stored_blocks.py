"""Weights in the blocks of a GGUF file, as the kernels read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize, quantize

from reference_engine.errors import ModelFileError
from reference_engine.native import pack
from reference_engine.native.library import Kernels
from reference_engine.weights.source import Blocks

KINDS = ("Q4_0", "Q4_1", "Q8_0")


@dataclass
class QuantizedTensors:
    """Tensors named `a` and `b`, 48 × 96, in blocks of one kind."""

    kind: str
    path: Path = Path("model.gguf")
    tensors: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(7)
        quantization = gguf.GGMLQuantizationType[self.kind]
        for name in ("a", "b"):
            values = rng.standard_normal((48, 96), dtype=np.float32)
            self.tensors[name] = quantize(values, quantization).reshape(48, 3, -1)

    def blocks(self, name: str) -> Blocks | None:
        return Blocks(self.kind, self.tensors[name])


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_reads_the_values_that_gguf_does(kernels: Kernels, kind: str) -> None:
    source = QuantizedTensors(kind)

    packed = pack.stored_blocks(source, ["a", "b"], None)

    assert packed is not None
    expected = [dequantize(source.tensors[name].reshape(48, -1), gguf.GGMLQuantizationType[kind]) for name in "ab"]
    assert np.array_equal(kernels.multiply(packed, np.eye(96, dtype=np.float32)).T, np.concatenate(expected))


@pytest.mark.parametrize("kind", KINDS)
def test_a_scale_that_is_no_number_is_refused_by_name(kind: str) -> None:
    source = QuantizedTensors(kind)
    source.tensors["b"][5, 1, :2] = np.frombuffer(np.float16(np.inf).tobytes(), dtype=np.uint8)

    with pytest.raises(ModelFileError, match="'b' holds values that are not finite"):
        pack.stored_blocks(source, ["a", "b"], None)


def test_other_blocks_are_left_to_the_dequantization() -> None:
    source = QuantizedTensors("Q8_0")
    source.kind = "Q5_0"

    assert pack.stored_blocks(source, ["a"], None) is None
