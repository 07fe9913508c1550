"""The formats that values are rounded to between operations."""

from __future__ import annotations

import torch
from torch import Tensor

from reference_engine.profile import ActivationFormat, KVFormat


def rounded(x: Tensor, to: ActivationFormat | KVFormat) -> Tensor:
    """`x` with each value rounded to the nearest one of bf16, or as it is under every format that rounds elsewhere."""
    return x.to(torch.bfloat16).to(x.dtype) if to == "bf16" else x
