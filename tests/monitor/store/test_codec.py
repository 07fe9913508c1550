from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.observation import FloatArray, Observation
from monitor.errors import StorageError
from monitor.store.codec import MAGIC, VERSION, decode, encode
from tests.monitor.store.material import canonical, observation

# Every one of the 2^64 bit patterns: subnormals, both zeros, infinities and NaNs with any payload.
bit_patterns = st.integers(min_value=0, max_value=2**64 - 1)
counts = st.none() | st.integers(min_value=0, max_value=2**80)


def floats_of(patterns: list[int]) -> FloatArray:
    return np.frombuffer(struct.pack(f"<{len(patterns)}Q", *patterns), dtype="<f8").astype(np.float64)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    tokens = draw(st.lists(st.binary(max_size=8), max_size=20))
    reference_tokens = draw(st.lists(st.binary(max_size=8), max_size=20))
    names = draw(st.lists(st.text(max_size=12), max_size=4, unique=True))

    def array(length: int) -> FloatArray:
        return floats_of(draw(st.lists(bit_patterns, min_size=length, max_size=length)))

    return Observation(
        item_key=draw(st.text(max_size=20)),
        rep=draw(st.integers(min_value=0, max_value=1000)),
        anchor=draw(st.booleans()),
        tokens=tuple(tokens),
        logprobs=array(len(tokens)),
        sampled=draw(st.none() | st.binary(max_size=8)),
        reference_tokens=tuple(reference_tokens),
        expected={name: array(len(reference_tokens)) for name in names},
        prompt_tokens=draw(counts),
        expected_prompt_tokens=draw(counts),
        response_id=draw(st.none() | st.text(max_size=20)),
    )


@given(observations())
def test_it_comes_back_bit_for_bit(given_observation: Observation) -> None:
    assert canonical(decode(encode(given_observation))) == canonical(given_observation)


@pytest.mark.parametrize("value", [-0.0, 5e-324, -5e-324, float("inf"), np.nextafter(-1.0, 0.0)])
def test_a_delicate_float_keeps_its_bits(value: float) -> None:
    given_observation = replace(observation("a"), logprobs=np.array([value, -value]))

    found = decode(encode(given_observation)).logprobs

    assert found.tobytes() == given_observation.logprobs.tobytes()
    assert found.dtype == np.float64


def test_candidates_keep_their_order() -> None:
    values = np.array([-1.0, -2.0])
    given_observation = replace(observation("a"), expected={"nf4": values, "bf16": values, "fp32": values})

    assert list(decode(encode(given_observation)).expected) == ["nf4", "bf16", "fp32"]


def test_a_view_that_is_not_contiguous_is_kept_as_it_reads() -> None:
    every_second = np.array([-1.0, 9.0, -2.0, 9.0])[::2]

    found = decode(encode(replace(observation("a"), logprobs=every_second)))

    assert found.logprobs.tolist() == [-1.0, -2.0]


@pytest.mark.parametrize(
    "wrong",
    [
        np.array([-0.5]),
        np.array([-0.5, -2.0], dtype=np.float32),
        np.array([[-0.5, -2.0]]),
    ],
)
def test_arrays_that_do_not_fit_their_tokens_are_refused(wrong: FloatArray) -> None:
    with pytest.raises(StorageError, match="logprobs is float"):
        encode(replace(observation("a"), logprobs=wrong))
    with pytest.raises(StorageError, match=r"expected\[nf4\]"):
        encode(replace(observation("a"), expected={"nf4": wrong}))


def test_no_changed_bit_makes_another_observation() -> None:
    blob = encode(observation("a"))
    noticed = 0

    for position in range(len(blob) * 8):
        damaged = bytearray(blob)
        damaged[position // 8] ^= 1 << (position % 8)
        try:
            found = decode(bytes(damaged))
        except StorageError:
            noticed += 1
            continue
        # A few bits of a zstd frame carry nothing.
        assert canonical(found) == canonical(observation("a"))

    assert noticed > 0.98 * len(blob) * 8


def test_a_blob_cut_short_or_with_a_tail_is_refused() -> None:
    blob = encode(observation("a"))

    for length in range(len(blob)):
        with pytest.raises(StorageError):
            decode(blob[:length])
    with pytest.raises(StorageError):
        decode(blob + b"\0")


def test_a_later_format_is_named() -> None:
    with pytest.raises(StorageError, match=f"format 02; this program reads format {VERSION}"):
        decode(MAGIC + b"\x02" + encode(observation("a"))[4:])
