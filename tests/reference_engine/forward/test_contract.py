"""The contract: a row's bits depend on its token, its position and the tokens before it, and on nothing else."""

from __future__ import annotations

import random
from functools import lru_cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from tests.reference_engine.forward.sequences import GARBAGE, Paged, paged, stored
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel

LENGTHS = (3, 17, 64, 65, 110)
SEQUENCES = [random.Random(length).choices(range(VOCABULARY), k=length) for length in LENGTHS]
ROW_MULTIPLES = (4, 16)
PRODUCTS = ((80, 48), (48, 48), (160, 48), (48, 80), (VOCABULARY, 48), (64, 8), (8, 64))
"""Outputs and inputs of the tiny model's matrix products."""


@st.composite
def schedules(draw: st.DrawFn) -> list[list[tuple[int, int, int]]]:
    """Passes over some of SEQUENCES: (which, start, end) in each, in the order drawn, until all are computed."""
    done = dict.fromkeys(draw(st.sets(st.sampled_from(range(len(LENGTHS))), min_size=1)), 0)
    passes = []
    while any(done[which] < LENGTHS[which] for which in done):
        left = [which for which in done if done[which] < LENGTHS[which]]
        step = []
        for which in draw(st.lists(st.sampled_from(left), min_size=1, unique=True)):
            end = min(LENGTHS[which], done[which] + draw(st.sampled_from((1, 7, 16, 50, 131))))
            step.append((which, done[which], end))
            done[which] = end
        passes.append(step)
    return passes


PROFILES = ("fp32", "bf16", "w8a8", "w4-g64", "fp32-kv-fp8", "fp32-kv-int8", "fp64")


@pytest.fixture(
    scope="module",
    params=[*[("tiny_llama", each) for each in PROFILES], ("tiny_windowed", "fp32")],
    ids=[*PROFILES, "window"],
)
def exact(request: pytest.FixtureRequest) -> tuple[TinyModel, str, int]:
    """A model and a profile with the padding that makes products exact on this machine."""
    name, profile = request.param
    for row_multiple in ROW_MULTIPLES:
        if all(rows_are_steady(*shape, row_multiple) for shape in PRODUCTS):
            return request.getfixturevalue(name), profile, row_multiple
    pytest.skip("matrix products of this machine depend on the number of rows, however they are padded")


def rows_are_steady(out: int, inputs: int, row_multiple: int) -> bool:
    """Whether a product's rows have the same bits for every multiple of rows up to 256, in both float formats."""
    for dtype in (torch.float32, torch.float64):
        x, weight = torch.randn(256, inputs, dtype=dtype), torch.randn(out, inputs, dtype=dtype)
        whole = functional.linear(x, weight)
        some = range(row_multiple, 256, row_multiple)
        if not all(torch.equal(functional.linear(x[:rows], weight), whole[:rows]) for rows in some):
            return False
    return True


@lru_cache
def alone(model: TinyModel, name: str, row_multiple: int) -> list[np.ndarray]:
    run = paged(*stored(model), name, row_multiple=row_multiple)
    return [run.run([(which, ids, 0)])[0] for which, ids in enumerate(SEQUENCES)]


@settings(max_examples=6, deadline=None)
@given(schedule=schedules())
def test_chunks_company_and_pages_change_no_bit(
    exact: tuple[TinyModel, str, int], schedule: list[list[tuple[int, int, int]]]
) -> None:
    expected = alone(*exact)
    run = fresh(exact)

    for step in schedule:
        parts = [(which, SEQUENCES[which][start:end], start) for which, start, end in step]
        for (which, start, end), hidden in zip(step, run.run(parts), strict=True):
            assert torch.equal(torch.from_numpy(hidden), torch.from_numpy(expected[which][start:end]))


def fresh(exact: tuple[TinyModel, str, int]) -> Paged:
    """A forward pass for `exact`, its arena full of garbage again."""
    run = _kept(*exact)
    run.arena.fill(GARBAGE)
    run.free = [*run.free, *(int(start) for pages in run.starts.values() for start in pages)]
    run.starts.clear()
    return run


@lru_cache
def _kept(model: TinyModel, name: str, row_multiple: int) -> Paged:
    return paged(*stored(model), name, row_multiple=row_multiple)


def test_reading_rows_together_or_apart_changes_no_bit(exact: tuple[TinyModel, str, int]) -> None:
    hidden, run = alone(*exact)[-1], fresh(exact)

    together = run.read(hidden)

    for row in (0, 63, 64, 109):
        apart = run.read(hidden[row : row + 1])
        for field in together.__dataclass_fields__:
            assert np.array_equal(getattr(apart, field)[0], getattr(together, field)[row])


def test_one_thread_and_two_give_the_same_bits(exact: tuple[TinyModel, str, int]) -> None:
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2):
            torch.set_num_threads(count)
            results.append(fresh(exact).run([(0, SEQUENCES[-1], 0), (1, SEQUENCES[0], 0)]))
    finally:
        torch.set_num_threads(threads)

    assert all(np.array_equal(one, two) for one, two in zip(*results, strict=True))


def test_plain_products_and_attention_break_the_contract() -> None:
    """What the comparisons above would say of a forward pass that took no care: they can fail."""
    torch.manual_seed(0)
    x, weight = torch.randn(64, 576), torch.randn(960, 576)
    q, k, v = torch.randn(3, 1, 3, 130, 64)
    whole_linear = functional.linear(x, weight)
    whole_attention = functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    linear_same = [torch.equal(functional.linear(x[:rows], weight), whole_linear[:rows]) for rows in range(1, 33)]
    attention_same = [
        torch.equal(
            functional.scaled_dot_product_attention(q[:, :, at : at + 1], k[:, :, : at + 1], v[:, :, : at + 1]),
            whole_attention[:, :, at : at + 1],
        )
        for at in range(130)
    ]

    assert not all(linear_same + attention_same)
