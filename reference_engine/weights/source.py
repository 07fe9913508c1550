"""One view of a model's files for all formats: configuration, tensors by their common names, and the files' digest."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reference_engine.errors import ModelFileError
from reference_engine.model.config import ModelConfig
from reference_engine.model.layout import expected_tensors


@dataclass(frozen=True, slots=True)
class Blocks:
    """A tensor in the blocks of its file: their format's name, and their bytes, rows [out, blocks, bytes]."""

    kind: str
    rows: NDArray[np.uint8]


class BlockSource(Protocol):
    """Tensors in the blocks of their file."""

    @property
    def path(self) -> Path: ...

    def blocks(self, name: str) -> Blocks | None:
        """The tensor in its file's blocks, its rows in the order of `read`; None where it is not stored in blocks."""
        ...


class WeightSource(BlockSource, Protocol):
    """A model's weights, as stored. Shapes are [out, in]; names are those of `model.layout`."""

    @property
    def format(self) -> str: ...

    @property
    def config(self) -> ModelConfig: ...

    def read(self, name: str, out: Tensor) -> None:
        """Writes the tensor into `out` (float32, contiguous), its rotary rows in two halves per head."""
        ...

    def rope_factors(self) -> Tensor | None:
        """Divisors of the rotary frequencies that the file carries as a tensor, if it does."""
        ...

    def sha256(self) -> str: ...


def check_finite(source: BlockSource, name: str, values: Tensor) -> None:
    """Raises ModelFileError for a tensor with a value that is not a finite number."""
    if not bool(torch.isfinite(values.sum())):
        raise ModelFileError(
            f"{source.path}: tensor {name!r} holds values that are not finite numbers.",
            remedy="Fetch the file again and compare its sha256 with the publisher's.",
        )


def check_tensors(
    path: Path, config: ModelConfig, found: Mapping[str, tuple[int, ...]], ignored: frozenset[str] = frozenset()
) -> None:
    """Raises ModelFileError unless `found` is what the decoder reads: nothing missing, nothing misshapen, nothing over.

    A tensor that the decoder would not read means a model it would compute wrongly.
    """
    expected = expected_tensors(config)
    remedy = "Fetch the model again, or use a conversion of a supported architecture."
    missing = [name for name in expected if name not in found]
    if missing:
        raise ModelFileError(f"{path}: {_listed(missing)} missing.", remedy=remedy)
    for name, shape in expected.items():
        if found[name] != shape:
            raise ModelFileError(f"{path}: tensor {name!r} has shape {found[name]}, expected {shape}.", remedy=remedy)
    unknown = [name for name in found if name not in expected and name not in ignored]
    if unknown:
        raise ModelFileError(
            f"{path}: {_listed(unknown)} not part of the {config.family.name} architecture.", remedy=remedy
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3])
    if len(names) == 1:
        return f"tensor {shown} is"
    return f"{len(names)} tensors ({shown}{', …' if len(names) > 3 else ''}) are"


_digests: dict[tuple[str, int, int, int], str] = {}
_digests_lock = threading.Lock()


def file_sha256(path: Path) -> str:
    """The file's digest, streamed; remembered while the file's identity, size and time of change stay the same."""
    stat = path.stat()
    key = (str(path.resolve()), stat.st_ino, stat.st_size, stat.st_mtime_ns)
    with _digests_lock:
        known = _digests.get(key)
    if known is None:
        with path.open("rb") as handle:
            known = hashlib.file_digest(handle, "sha256").hexdigest()
        with _digests_lock:
            _digests[key] = known
    return known


def files_sha256(paths: list[Path]) -> str:
    """One digest for several files: of their names and digests, in the order of names."""
    lines = "".join(f"{file_sha256(path)}  {path.name}\n" for path in sorted(paths))
    return hashlib.sha256(lines.encode()).hexdigest()
