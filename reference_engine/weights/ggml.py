"""The block formats of ggml: how many elements lie in how many bytes. Knows no tensors, so that headers read fast."""

from __future__ import annotations

import functools
from dataclasses import dataclass

_SUPER = 256


@dataclass(frozen=True, slots=True)
class GGMLType:
    """`block_size` elements are stored in `block_bytes` bytes."""

    id: int
    name: str
    block_size: int
    block_bytes: int


_OWN = {
    kind.id: kind
    for kind in (
        GGMLType(0, "F32", 1, 4),
        GGMLType(1, "F16", 1, 2),
        GGMLType(2, "Q4_0", 32, 18),
        GGMLType(3, "Q4_1", 32, 20),
        GGMLType(6, "Q5_0", 32, 22),
        GGMLType(7, "Q5_1", 32, 24),
        GGMLType(8, "Q8_0", 32, 34),
        GGMLType(12, "Q4_K", _SUPER, 144),
        GGMLType(13, "Q5_K", _SUPER, 176),
        GGMLType(14, "Q6_K", _SUPER, 210),
        GGMLType(30, "BF16", 1, 2),
    )
}


def ggml_type(type_id: int) -> GGMLType | None:
    """The type with this number, or None where no dequantization is known for it."""
    return _OWN.get(type_id) or _package_type(type_id)


@functools.cache
def _package_type(type_id: int) -> GGMLType | None:
    """A format this engine does not unpack itself but the `gguf` package does."""
    import numpy as np
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    try:
        kind = GGMLQuantizationType(type_id)
        block_size, block_bytes = GGML_QUANT_SIZES[kind]
        dequantize(np.zeros((1, block_bytes), dtype=np.uint8), kind)
    except (ValueError, KeyError, NotImplementedError):
        return None
    return GGMLType(type_id, kind.name, block_size, block_bytes)
