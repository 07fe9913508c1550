"""Reads the GGUF container: metadata and tensor directory, every byte range checked against the file's length."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from reference_engine.errors import ModelFileError, ModelNotFoundError
from reference_engine.weights.ggml import GGMLType, ggml_type

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32
_MAX_DIMENSIONS = 4
_UINT32, _STRING, _ARRAY, _UINT64 = 4, 8, 9, 10
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}

_FETCH_AGAIN = "Fetch the file again and compare its size and sha256 with the publisher's."

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where one tensor lies. `shape` is in row-major order (rows first), the reverse of the file's."""

    name: str
    shape: tuple[int, ...]
    type: GGMLType
    offset: int

    @property
    def nbytes(self) -> int:
        elements = 1
        for size in self.shape:
            elements *= size
        return elements // self.type.block_size * self.type.block_bytes


@dataclass(frozen=True, slots=True)
class GGUFFile:
    """An opened GGUF file. `buffer` is a private mapping of the whole file: nothing is read until it is touched."""

    path: Path
    metadata: Mapping[str, Any]
    tensors: Mapping[str, TensorInfo]
    buffer: mmap.mmap = field(repr=False)

    def get(self, key: str, kind: type[T], default: T | None = None) -> T | None:
        """The metadata value of `key`, checked to be of `kind`; `default` when the key is absent."""
        value = self.metadata.get(key)
        if value is None:
            return default
        if kind is float and isinstance(value, int):
            value = float(value)
        if not isinstance(value, kind):
            raise ModelFileError(
                f"{self.path}: metadata {key!r} is a {type(value).__name__}, not a {kind.__name__}.",
                remedy="Convert the model again with a current converter.",
            )
        return value

    def require(self, key: str, kind: type[T]) -> T:
        value = self.get(key, kind)
        if value is None:
            raise ModelFileError(
                f"{self.path}: metadata {key!r} is missing.", remedy="Convert the model again with a current converter."
            )
        return value

    def bytes_of(self, info: TensorInfo) -> memoryview:
        return memoryview(self.buffer)[info.offset : info.offset + info.nbytes]


def open_gguf(path: Path) -> GGUFFile:
    """Maps the file and reads its header. Raises ModelNotFoundError or ModelFileError."""
    try:
        with path.open("rb") as handle:
            magic = handle.read(len(_MAGIC))
            if magic != _MAGIC:
                raise ModelFileError(
                    f"{path} is not a GGUF file: it starts with {magic!r} instead of {_MAGIC!r}.", remedy=_FETCH_AGAIN
                )
            buffer = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_COPY)
    except FileNotFoundError:
        raise ModelNotFoundError(f"There is no model file {path}.", remedy="Check the path of the weights.") from None
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read: {error.strerror or error}.", remedy="Check the file and its permissions."
        ) from error
    return _HeaderReader(path, buffer).read()


class _HeaderReader:
    """A cursor over the header that refuses to run past the end of the file."""

    def __init__(self, path: Path, buffer: mmap.mmap) -> None:
        self._path = path
        self._buffer = buffer
        self._offset = len(_MAGIC)

    def read(self) -> GGUFFile:
        version = self._scalar(_UINT32, "the version")
        if version not in _VERSIONS:
            raise self._invalid(f"GGUF version {version} is not supported (supported: 2, 3, little-endian)")
        tensor_count = self._scalar(_UINT64, "the tensor count")
        value_count = self._scalar(_UINT64, "the metadata count")
        metadata: dict[str, Any] = {}
        for _ in range(value_count):
            key = self._string("a metadata key")
            if key in metadata:
                raise self._invalid(f"metadata {key!r} stands twice")
            metadata[key] = self._value(self._scalar(_UINT32, f"the type of {key!r}"), key)
        entries = [self._tensor_entry() for _ in range(tensor_count)]
        tensors = self._place(entries, metadata.get("general.alignment", _DEFAULT_ALIGNMENT))
        return GGUFFile(self._path, metadata, tensors, self._buffer)

    def _tensor_entry(self) -> TensorInfo:
        name = self._string("a tensor's name")
        dimensions = self._scalar(_UINT32, f"the dimensions of {name!r}")
        if not 1 <= dimensions <= _MAX_DIMENSIONS:
            raise self._invalid(f"tensor {name!r} has {dimensions} dimensions")
        shape = tuple(self._scalar(_UINT64, f"the shape of {name!r}") for _ in range(dimensions))[::-1]
        type_id = self._scalar(_UINT32, f"the type of {name!r}")
        kind = ggml_type(type_id)
        if kind is None:
            raise self._invalid(f"tensor {name!r} has the unknown quantization type {type_id}")
        if shape[-1] % kind.block_size:
            raise self._invalid(f"rows of {shape[-1]} in tensor {name!r} do not divide into blocks of {kind.name}")
        return TensorInfo(name, shape, kind, self._scalar(_UINT64, f"the offset of {name!r}"))

    def _place(self, entries: list[TensorInfo], alignment: Any) -> dict[str, TensorInfo]:
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise self._invalid(f"general.alignment {alignment!r} is not a power of two")
        data_start = (self._offset + alignment - 1) // alignment * alignment
        tensors: dict[str, TensorInfo] = {}
        for entry in entries:
            placed = TensorInfo(entry.name, entry.shape, entry.type, data_start + entry.offset)
            if placed.name in tensors:
                raise self._invalid(f"tensor {placed.name!r} stands twice")
            self._check_length(placed.offset, placed.nbytes, f"tensor {placed.name!r}")
            tensors[placed.name] = placed
        return tensors

    def _value(self, kind: int, key: str) -> Any:
        if kind == _STRING:
            return self._string(f"metadata {key!r}")
        if kind == _ARRAY:
            return self._array(key)
        return self._scalar(kind, f"metadata {key!r}")

    def _array(self, key: str) -> list[Any]:
        what = f"metadata {key!r}"
        kind = self._scalar(_UINT32, what)
        length = self._scalar(_UINT64, what)
        if kind == _STRING:
            return [self._string(what) for _ in range(length)]
        if kind not in _SCALARS:
            raise self._invalid(f"{what} is an array of the unsupported type {kind}")
        start = self._advance(length * struct.calcsize(_SCALARS[kind]), what)
        return list(struct.unpack_from(f"<{length}{_SCALARS[kind][1]}", self._buffer, start))

    def _string(self, what: str) -> str:
        length = self._scalar(_UINT64, what)
        start = self._advance(length, what)
        try:
            return self._buffer[start : start + length].decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._invalid(f"{what} is not UTF-8") from error

    def _scalar(self, kind: int, what: str) -> Any:
        code = _SCALARS.get(kind)
        if code is None:
            raise self._invalid(f"{what} has the unknown value type {kind}")
        return struct.unpack_from(code, self._buffer, self._advance(struct.calcsize(code), what))[0]

    def _advance(self, nbytes: int, what: str) -> int:
        """Moves past the next `nbytes` and returns where they start."""
        start = self._offset
        self._check_length(start, nbytes, what)
        self._offset = start + nbytes
        return start

    def _check_length(self, offset: int, nbytes: int, what: str) -> None:
        if offset + nbytes > len(self._buffer):
            raise ModelFileError(
                f"{self._path} is cut short: {what} ends at byte {offset + nbytes}, "
                f"the file has {len(self._buffer)} bytes.",
                remedy=_FETCH_AGAIN,
            )

    def _invalid(self, what: str) -> ModelFileError:
        return ModelFileError(f"{self._path} is not a valid model file: {what}.", remedy=_FETCH_AGAIN)
