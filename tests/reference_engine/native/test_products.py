"""Products of rows with packed weights: right, and a row's bits are its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from reference_engine.native import pack
from reference_engine.native.library import Kernels, Packed

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Case:
    """`weight` is what the packed matrix stands for."""

    packed: Packed
    weight: Floats


def _f32(rng: np.random.Generator, outputs: int, inputs: int) -> Case:
    weight = rng.standard_normal((outputs, inputs), dtype=np.float32)
    return Case(pack.floats(weight), weight)


def _bf16(rng: np.random.Generator, outputs: int, inputs: int) -> Case:
    bits = rng.standard_normal((outputs, inputs), dtype=np.float32).view(np.uint32) & 0xFFFF0000
    return Case(pack.floats(bits.view(np.float32)), bits.view(np.float32))


def _spread(values: NDArray[np.floating], group: int, inputs: int) -> Floats:
    """One value a group to one an input."""
    return np.repeat(values.astype(np.float32), group, axis=1)[:, :inputs]


def _groups(inputs: int, group: int) -> int:
    return -(-inputs // group)


def _q8(rng: np.random.Generator, outputs: int, inputs: int) -> Case:
    codes = rng.integers(-128, 128, (outputs, inputs)).astype(np.int8)
    scales = rng.random((outputs, _groups(inputs, 32))).astype(np.float16)
    return Case(pack.int8_groups(codes, scales, 32), codes * _spread(scales, 32, inputs))


def _q4(rng: np.random.Generator, outputs: int, inputs: int) -> Case:
    codes = rng.integers(0, 16, (outputs, inputs)).astype(np.uint8)
    scales = rng.random((outputs, _groups(inputs, 64)), dtype=np.float32)
    return Case(pack.int4_groups(codes, scales, 64), (codes.astype(np.float32) - 8) * _spread(scales, 64, inputs))


def _q4_minimum(rng: np.random.Generator, outputs: int, inputs: int) -> Case:
    codes = rng.integers(0, 16, (outputs, inputs)).astype(np.uint8)
    scales, minima = (rng.random((outputs, _groups(inputs, 32))).astype(np.float16) for _ in range(2))
    value = codes * _spread(scales, 32, inputs) + _spread(minima, 32, inputs)
    return Case(pack.int4_groups_with_minimum(codes, scales, minima, 32), value)


FORMATS: dict[str, Callable[[np.random.Generator, int, int], Case]] = {
    "f32": _f32,
    "bf16": _bf16,
    "q8": _q8,
    "q4": _q4,
    "q4-minimum": _q4_minimum,
}
SHAPES = [(64, 96), (53, 80), (16, 48), (200, 300)]


def int8_case(rng: np.random.Generator, outputs: int, inputs: int) -> tuple[Packed, NDArray[np.int8], Floats]:
    codes = rng.integers(-127, 128, (outputs, inputs)).astype(np.int8)
    scales = rng.random(outputs, dtype=np.float32)
    return pack.int8_rows(codes, scales), codes, scales


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", FORMATS)
def test_kernel_unpacks_every_weight_exactly(kernels: Kernels, kind: str, shape: tuple[int, int]) -> None:
    case = FORMATS[kind](np.random.default_rng(1), *shape)

    unit_rows = np.eye(shape[1], dtype=np.float32)

    assert np.array_equal(kernels.multiply(case.packed, unit_rows).T, case.weight)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", FORMATS)
def test_kernel_products_are_right(kernels: Kernels, kind: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    case, rows = FORMATS[kind](rng, *shape), rng.standard_normal((9, shape[1]), dtype=np.float32)

    exact = rows.astype(np.float64) @ case.weight.T.astype(np.float64)

    error = np.abs(kernels.multiply(case.packed, rows) - exact).max()
    assert error < 1e-6 * np.abs(exact).max()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_kernel_sums_int8_products_exactly(every_kernels: list[Kernels], shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    packed, codes, scales = int8_case(rng, *shape)
    rows = rng.standard_normal((11, shape[1]), dtype=np.float32)
    rows[4] = 0

    largest = np.abs(rows).max(axis=1)
    steps = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    sums = np.rint(rows / steps[:, None]).astype(np.int64) @ codes.T.astype(np.int64)
    expected = sums.astype(np.float32) * steps[:, None] * scales[None, :]

    for kernels in every_kernels:
        assert np.array_equal(kernels.multiply(packed, rows), expected)


def test_kernel_int8_sums_hold_at_their_largest(every_kernels: list[Kernels]) -> None:
    """127 · 127 · 4096 inputs is beyond what a float counts by ones, and well inside 32 bits."""
    codes = np.full((16, 4096), 127, dtype=np.int8)
    rows = np.full((1, 4096), 127, dtype=np.float32)

    packed = pack.int8_rows(codes, np.ones(16, dtype=np.float32))

    for kernels in every_kernels:
        assert (kernels.multiply(packed, rows) == np.float32(127 * 127 * 4096)).all()


@pytest.mark.parametrize("kind", [*FORMATS, "int8"])
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from(SHAPES))
def test_kernel_bits_are_a_rows_own_on_every_instruction_set(
    every_kernels: list[Kernels], kind: str, count: int, seed: int, shape: tuple[int, int]
) -> None:
    """Alone or among others that are not even numbers, anywhere in the batch, with one thread or two."""
    rng = np.random.default_rng(seed)
    matrix = int8_case(rng, *shape)[0] if kind == "int8" else FORMATS[kind](rng, *shape).packed
    row = rng.standard_normal((1, shape[1]), dtype=np.float32)
    batch = rng.standard_normal((count, shape[1]), dtype=np.float32)
    if kind != "int8":
        batch[rng.random(count) < 0.3] = np.nan
    place = int(rng.integers(count))
    batch[place] = row[0]

    alone = every_kernels[0].multiply(matrix, row)[0]

    for kernels in every_kernels:
        assert np.array_equal(kernels.multiply(matrix, batch)[place], alone)


def test_biases_are_added_after_the_sum(kernels: Kernels) -> None:
    rng = np.random.default_rng(5)
    weight, bias = rng.standard_normal((40, 48), dtype=np.float32), rng.standard_normal(40, dtype=np.float32)
    rows = rng.standard_normal((3, 48), dtype=np.float32)

    with_bias = kernels.multiply(pack.floats(weight, bias), rows)

    assert np.array_equal(with_bias, kernels.multiply(pack.floats(weight), rows) + bias)


def test_packed_four_bit_weights_take_a_seventh_of_floats() -> None:
    codes = np.zeros((576, 1536), dtype=np.uint8)

    packed = pack.int4_groups(codes, np.ones((576, 24), dtype=np.float32), 64)

    assert packed.nbytes <= 0.15 * codes.size * 4
