"""The kernels as Python calls them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_double, c_float, c_int32, c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import Asked, Batch, ReadOut
from reference_engine.native.build import InstructionSet, built, offered
from reference_engine.sample import Draw

F32, BF16, Q8, Q4, Q4_MIN, I8 = range(6)
LANES = 16


class Matrix(ctypes.Structure):
    """Weights in panels; panels.h says how they lie. Build it with `packed`, which keeps the arrays alive."""

    _fields_: ClassVar = [
        ("format", c_int32),
        ("outputs", c_int32),
        ("inputs", c_int32),
        ("group", c_int32),
        ("data", c_void_p),
        ("scales", c_void_p),
        ("sums", c_void_p),
        ("bias", c_void_p),
    ]


class Layer(ctypes.Structure):
    _fields_: ClassVar = [
        ("attention_norm", c_void_p),
        ("qkv", Matrix),
        ("q_norm", c_void_p),
        ("k_norm", c_void_p),
        ("output", Matrix),
        ("feed_norm", c_void_p),
        ("gate_up", Matrix),
        ("down", Matrix),
        ("window", c_int32),
        ("group", c_int32),
        ("index", c_int32),
    ]


class Model(ctypes.Structure):
    _fields_: ClassVar = [
        ("hidden", c_int32),
        ("wide", c_int32),
        ("layer_count", c_int32),
        ("heads", c_int32),
        ("kv_heads", c_int32),
        ("head_width", c_int32),
        ("activations", c_int32),
        ("keys_and_values", c_int32),
        ("epsilon", c_float),
        ("cosines", c_void_p),
        ("sines", c_void_p),
        ("layers", POINTER(Layer)),
        ("final_norm", c_void_p),
        ("embedding", Matrix),
        ("head", Matrix),
    ]


class _Rows(ctypes.Structure):
    _fields_: ClassVar = [
        ("count", c_int32),
        ("read_count", c_int32),
        ("owner_count", c_int32),
        ("table_width", c_int32),
        ("ids", c_void_p),
        ("positions", c_void_p),
        ("owners", c_void_p),
        ("tables", c_void_p),
        ("read", c_void_p),
    ]


class _ReadOut(ctypes.Structure):
    _fields_: ClassVar = [
        ("count", c_int32),
        ("top_k", c_int32),
        ("chosen_width", c_int32),
        ("bfloat", c_int32),
        ("states", c_void_p),
        ("own", c_void_p),
        ("chosen", c_void_p),
        ("log_normaliser", c_void_p),
        ("top_ids", c_void_p),
        ("top_logits", c_void_p),
        ("own_logit", c_void_p),
        ("own_rank", c_void_p),
        ("chosen_logits", c_void_p),
    ]


class _Draw(ctypes.Structure):
    _fields_: ClassVar = [("temperature", c_double), ("top_p", c_double), ("seed", c_uint64), ("position", c_int64)]


def padded(count: int) -> int:
    return (count + LANES - 1) // LANES * LANES


@dataclass(frozen=True, slots=True)
class Packed:
    """A matrix with the arrays that it points into, its panels first."""

    view: Matrix
    kept: tuple[NDArray[Any], ...]

    def moved(self, copied: Callable[[NDArray[np.uint8]], NDArray[np.uint8]]) -> Packed:
        """The same matrix, its panels where `copied` puts them."""
        panels = copied(self.kept[0])
        view = Matrix.from_buffer_copy(self.view)
        view.data = panels.ctypes.data
        return Packed(view, (panels, *self.kept[1:]))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.kept)


def packed(
    kind: int,
    shape: tuple[int, int],
    data: NDArray[np.uint8],
    *,
    group: int = 1,
    scales: NDArray[np.float32] | None = None,
    sums: NDArray[np.int32] | None = None,
    bias: NDArray[np.float32] | None = None,
) -> Packed:
    """`shape` is [outputs, inputs]; scales, sums and bias are padded to whole panels here."""
    outputs, inputs = shape
    wide = [None if each is None else _to_panels(each, outputs) for each in (scales, sums, bias)]
    pointers = [None if each is None else each.ctypes.data for each in wide]
    view = Matrix(kind, outputs, inputs, group, data.ctypes.data, *pointers)
    return Packed(view, (data, *(each for each in wide if each is not None)))


def _to_panels(values: NDArray[Any], outputs: int) -> NDArray[Any]:
    wide = np.zeros(padded(outputs), dtype=values.dtype)
    wide[:outputs] = values
    return wide


class Kernels:
    """One build of the kernels with a team of threads. Calls take turns: it is not safe for several threads at once."""

    def __init__(self, isa: InstructionSet, threads: int | None = None) -> None:
        """Raises KernelsUnavailableError where they cannot be built."""
        self.isa = isa
        self.path = built(isa)
        self.threads = threads or len(os.sched_getaffinity(0))
        self._library = ctypes.CDLL(str(self.path))
        self._declare()
        self._made_in = 0
        self._members = c_void_p()

    @property
    def _team(self) -> c_void_p:
        """The threads. A process that was forked has none of its parent's, so it makes its own."""
        if self._made_in != os.getpid():
            self._members = c_void_p(self._library.engine_open(self.threads))
            self._made_in = os.getpid()
        return self._members

    def close(self) -> None:
        """Ends the threads; a later call starts them again."""
        if self._made_in == os.getpid():
            self._library.engine_close(self._members)
        self._made_in = 0

    def hidden(self, model: Model, batch: Batch, arena: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The final hidden states [read, hidden]."""
        out = np.empty((len(batch.read), model.hidden), dtype=np.float32)
        rows = _Rows(
            len(batch.ids),
            len(batch.read),
            batch.tables.shape[1],
            batch.tables.shape[2],
            batch.ids.ctypes.data,
            batch.positions.ctypes.data,
            batch.owners.ctypes.data,
            batch.tables.ctypes.data,
            batch.read.ctypes.data,
        )
        self._library.engine_hidden(self._team, byref(model), byref(rows), arena.ctypes.data, out.ctypes.data)
        return out

    def read_out(self, model: Model, hidden: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self._read(model, np.ascontiguousarray(hidden), asked, logits=None)

    def read_logits(self, model: Model, logits: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self._read(model, np.empty((0, model.hidden), dtype=np.float32), asked, logits=_in_rows(logits))

    def _read(
        self, model: Model, hidden: NDArray[np.float32], asked: Asked, logits: NDArray[np.float32] | None
    ) -> ReadOut:
        count, width = asked.chosen.shape
        k = min(asked.top_k, model.head.outputs)
        found = ReadOut(
            log_normaliser=np.empty(count, dtype=np.float64),
            top_ids=np.empty((count, k), dtype=np.int32),
            top_logits=np.empty((count, k), dtype=np.float32),
            own_logit=np.empty(count, dtype=np.float32),
            own_rank=np.empty(count, dtype=np.int32),
            chosen_logits=np.empty((count, width), dtype=np.float32),
        )
        given = [hidden, np.ascontiguousarray(asked.own), np.ascontiguousarray(asked.chosen)]
        view = _ReadOut(
            count,
            k,
            width,
            int(model.activations == ACTIVATIONS["bf16"]),
            *(each.ctypes.data for each in given),
            found.log_normaliser.ctypes.data,
            found.top_ids.ctypes.data,
            found.top_logits.ctypes.data,
            found.own_logit.ctypes.data,
            found.own_rank.ctypes.data,
            found.chosen_logits.ctypes.data,
        )
        where, step = (None, 0) if logits is None else (logits.ctypes.data, logits.strides[0] // logits.itemsize)
        self._library.engine_read_out(self._team, byref(model), byref(view), where, step)
        return found

    def logits(self, model: Model, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        """[rows, vocabulary]."""
        states = np.ascontiguousarray(hidden)
        out = np.empty((len(states), padded(model.head.outputs)), dtype=np.float32)
        bfloat = int(model.activations == ACTIVATIONS["bf16"])
        self._library.engine_logits(self._team, byref(model), states.ctypes.data, len(states), bfloat, out.ctypes.data)
        return out[:, : model.head.outputs]

    def sample(self, logits: NDArray[np.float32], draws: Sequence[Draw]) -> list[int]:
        """One token id for each row of logits [rows, vocabulary]."""
        rows = _in_rows(logits)
        each_draw = [_Draw(each.temperature, each.top_p, each.seed % 2**64, each.position) for each in draws]
        asked = (_Draw * len(draws))(*each_draw)
        out = np.empty(len(draws), dtype=np.int32)
        step = rows.strides[0] // rows.itemsize
        self._library.engine_sample(
            self._team, rows.ctypes.data, step, rows.shape[1], len(draws), byref(asked), out.ctypes.data
        )
        found: list[int] = out.tolist()
        return found

    def multiply(self, matrix: Packed, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """rows [n, inputs] by the matrix, [n, outputs]."""
        given = np.ascontiguousarray(rows, dtype=np.float32)
        out = np.empty((len(given), padded(matrix.view.outputs)), dtype=np.float32)
        self._library.engine_multiply(self._team, byref(matrix.view), given.ctypes.data, len(given), out.ctypes.data)
        return out[:, : matrix.view.outputs]

    def _declare(self) -> None:
        library = self._library
        library.engine_open.restype = c_void_p
        library.engine_open.argtypes = [c_int32]
        library.engine_close.argtypes = [c_void_p]
        library.engine_hidden.argtypes = [c_void_p, POINTER(Model), POINTER(_Rows), c_void_p, c_void_p]
        library.engine_read_out.argtypes = [c_void_p, POINTER(Model), POINTER(_ReadOut), c_void_p, c_int64]
        library.engine_logits.argtypes = [c_void_p, POINTER(Model), c_void_p, c_int32, c_int32, c_void_p]
        library.engine_sample.argtypes = [c_void_p, c_void_p, c_int64, c_int32, c_int32, c_void_p, c_void_p]
        library.engine_multiply.argtypes = [c_void_p, POINTER(Matrix), c_void_p, c_int32, c_void_p]


def _in_rows(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """With the values of a row beside each other, as those that `logits` gives are."""
    return logits if logits.strides[1] == logits.itemsize else np.ascontiguousarray(logits)


ACTIVATIONS = {"fp32": 0, "bf16": 1, "int8-row": 2}
KEYS_AND_VALUES = {"fp32": 0, "bf16": 1}


def fastest() -> InstructionSet | None:
    """What this processor runs fastest; None where it runs none of the kernels."""
    return next(iter(offered()), None)
