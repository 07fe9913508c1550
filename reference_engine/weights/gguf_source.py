"""Weights from a GGUF file: dequantized tensors, with llama.cpp's reordering of rotary rows undone."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from reference_engine.errors import ModelFileError
from reference_engine.model.config import ModelConfig, config_from_gguf
from reference_engine.model.layout import ROPE_FACTORS
from reference_engine.model.rope import undo_interleaving
from reference_engine.weights.dequantize import dequantize
from reference_engine.weights.gguf import GGUFFile
from reference_engine.weights.source import Blocks, check_tensors, file_sha256


class GGUFSource:
    """Implements WeightSource."""

    format = "gguf"

    def __init__(self, file: GGUFFile) -> None:
        self._file = file
        self.path: Path = file.path
        self.config: ModelConfig = config_from_gguf(file)
        shapes = {name: info.shape for name, info in file.tensors.items()}
        check_tensors(file.path, self.config, shapes, frozenset({ROPE_FACTORS}))

    def read(self, name: str, out: Tensor) -> None:
        heads = self._interleaved_heads(name.split(".")[-2])
        if heads is None:
            self.read_stored(name, out)
            return
        stored = torch.empty_like(out)
        self.read_stored(name, stored)
        out.copy_(undo_interleaving(stored, heads))

    def blocks(self, name: str) -> Blocks | None:
        info = self._file.tensors[name]
        if info.type.block_size == 1:
            return None
        rows = torch.frombuffer(self._file.bytes_of(info), dtype=torch.uint8)
        rows = rows.view(info.shape[0], -1, info.type.block_bytes)
        heads = self._interleaved_heads(name.split(".")[-2])
        return Blocks(info.type.name, (rows if heads is None else undo_interleaving(rows, heads)).numpy())

    def _interleaved_heads(self, part: str) -> int | None:
        """How many heads of rows stand in interleaved rotary order in this part of a block; None where none do."""
        if not self.config.family.gguf_permutes_rope:
            return None
        return {"attn_q": self.config.n_heads, "attn_k": self.config.n_kv_heads}.get(part)

    def read_stored(self, name: str, out: Tensor) -> None:
        """The dequantized tensor, its rows in the file's order."""
        info = self._file.tensors[name]
        dequantize(self._file.bytes_of(info), info.type, out)

    def rope_factors(self) -> Tensor | None:
        if ROPE_FACTORS not in self._file.tensors:
            return None
        expected, shape = (self.config.head_dim // 2,), self._file.tensors[ROPE_FACTORS].shape
        if shape != expected:
            raise ModelFileError(
                f"{self.path}: tensor {ROPE_FACTORS!r} has shape {shape}, expected {expected}.",
                remedy="Fetch the model again.",
            )
        factors = torch.empty(expected)
        self.read_stored(ROPE_FACTORS, factors)
        return factors

    def sha256(self) -> str:
        return file_sha256(self.path)
