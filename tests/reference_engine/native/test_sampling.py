from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_engine.native.library import Kernels
from reference_engine.sample import Draw, sample

_TEMPERATURES = st.one_of(st.just(0.0), st.floats(0.05, 5))
_TOP_P = st.one_of(st.just(1.0), st.floats(0.01, 1))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 700),
    st.integers(0, 2**32 - 1),
    _TEMPERATURES,
    _TOP_P,
    st.integers(0, 2**64 - 1),
    st.integers(0, 9000),
)
def test_kernel_samples_what_its_definition_does(
    every_kernels: list[Kernels], width: int, content: int, temperature: float, top_p: float, seed: int, position: int
) -> None:
    logits = (np.random.default_rng(content).standard_normal((3, width)) * 4).astype(np.float32)
    logits[1] = np.round(logits[1])  # many ties
    draws = [Draw(temperature, top_p, seed, position + row) for row in range(3)]

    expected = [
        sample(row.astype(np.float64), temperature=temperature, top_p=top_p, seed=seed, position=draw.position)
        for row, draw in zip(logits, draws, strict=True)
    ]

    for kernels in every_kernels:
        assert kernels.sample(logits, draws) == expected


def test_kernel_samples_follow_the_distribution(kernels: Kernels) -> None:
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], dtype=np.float32))[None].repeat(20_000, axis=0)

    tokens = kernels.sample(logits, [Draw(1.0, 1.0, 7, position) for position in range(20_000)])

    shares = np.bincount(tokens, minlength=4) / 20_000
    assert np.abs(shares - [0.5, 0.3, 0.15, 0.05]).max() < 0.015
