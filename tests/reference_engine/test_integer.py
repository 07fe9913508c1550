"""Linear layers in whole numbers, against 64-bit integers and against numpy in the stated order of operations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from reference_engine import PROFILES
from reference_engine.ops.integer import Int8Matrix, exact_product, int8_rows, linear
from reference_engine.weights.quantize import alteration

ROWS = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 4), st.integers(1, 40)), elements=st.floats(-(2.0**100), 2.0**100, width=32)
)


@pytest.mark.parametrize("width", [1, 48, 1039, 1040, 1041, 1536, 5000])
def test_products_are_those_of_64_bit_integers(width: int) -> None:
    generator = torch.Generator().manual_seed(width)
    x, weight = (torch.randint(-127, 128, (rows, width), generator=generator) for rows in (7, 33))
    x[0], weight[0] = 127, 127
    x[1], weight[1] = -127, 127

    product = exact_product(x.float(), weight.float())

    assert torch.equal(product.long(), x @ weight.T)
    assert product[0, 0] == 127 * 127 * width


@given(ROWS)
def test_rows_are_quantized_in_the_stated_order(values: np.ndarray) -> None:
    scale = np.abs(values).max(axis=1, keepdims=True) / np.float32(127)
    scale = np.where(scale > 0, scale, np.float32(1))
    expected = np.clip(np.rint(values / scale), -127, 127)

    whole, scales = int8_rows(torch.from_numpy(values))

    assert np.array_equal(scales.numpy(), scale)
    assert np.array_equal(whole.numpy(), expected)


def test_rows_too_small_for_an_exact_scale_stay_within_a_byte() -> None:
    smallest = torch.finfo(torch.float32).smallest_normal * torch.finfo(torch.float32).eps

    whole, scales = int8_rows(torch.tensor([[190.0, -190.0, 1.0], [60.0, 1.0, 0.0]]) * smallest)

    assert scales.flatten().tolist() == [smallest, 1.0]
    assert whole.tolist() == [[127, -127, 1], [0, 0, 0]]


def test_the_epilogue_is_one_conversion_and_two_products() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(6, 1536), torch.randn(40, 1536)
    x[2] = 0
    matrix = Int8Matrix.of(weight)
    whole, scales = (part.numpy() for part in int8_rows(x))
    sums = whole.astype(np.int64) @ matrix.values.numpy().astype(np.int64).T

    ours = linear(x, matrix).numpy()

    assert np.abs(sums).max() > 2**16
    assert np.array_equal(ours, (sums.astype(np.float32) * scales) * matrix.scales.numpy())
    assert not ours[2].any()
    assert np.abs(ours - (x @ weight.T).numpy()).max() < 3


def test_weights_are_those_of_the_profile_that_quantizes_them_alone() -> None:
    weight = torch.randn(20, 100)
    weight[4] = 0

    matrix = Int8Matrix.of(weight)

    assert torch.equal(matrix.values * matrix.scales.unsqueeze(1), alteration(PROFILES["w8-channel"])(weight))
