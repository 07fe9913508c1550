"""JSON carries every number to the last bit, those included that JSON has no word for."""

from __future__ import annotations

import json
import struct

from hypothesis import given
from hypothesis import strategies as st

from reference_engine import GeneratedToken, Rendered, Scored, TokenDistribution, wire

NUMBERS = st.floats(allow_nan=False, width=64)
PAIRS = st.lists(st.tuples(st.integers(0, 2**31), NUMBERS), max_size=3).map(tuple)
DISTRIBUTIONS = st.builds(
    TokenDistribution,
    index=st.integers(0, 9),
    token_id=st.none() | st.integers(0, 9),
    logprob=st.none() | NUMBERS,
    rank=st.none() | st.integers(0, 9),
    top=PAIRS,
    chosen=PAIRS.map(dict),
    tail_mass=NUMBERS,
)


def over_the_wire(document: wire.Document) -> wire.Document:
    arrived: wire.Document = json.loads(json.dumps(document, allow_nan=False))
    return arrived


@given(st.floats(width=64))
def test_a_number_arrives_bit_for_bit(value: float) -> None:
    arrived = float(json.loads(json.dumps(wire.number(value), allow_nan=False)))

    assert (value != value and arrived != arrived) or struct.pack("d", arrived) == struct.pack("d", value)


@given(st.lists(DISTRIBUTIONS, max_size=2))
def test_scores_arrive_equal(positions: list[TokenDistribution]) -> None:
    scored = Scored((1, 2), tuple(positions), "fp32", "f", "approx")

    assert wire.read_scored(over_the_wire(wire.scored_document(scored))) == scored


@given(
    st.builds(
        GeneratedToken,
        st.integers(0, 9),
        st.text(),
        NUMBERS,
        PAIRS,
        st.sampled_from([None, "stop", "length"]),
        st.none() | NUMBERS,
    )
)
def test_generated_tokens_arrive_equal(token: GeneratedToken) -> None:
    assert wire.read_generated(over_the_wire(wire.generated_document(token))) == token


@given(
    st.builds(
        Rendered, st.text(), st.lists(st.integers(0, 9)).map(tuple), st.sampled_from(["none", "template", "hermes"])
    )
)
def test_a_rendered_conversation_arrives_equal(rendered: Rendered) -> None:
    assert wire.read_rendered(over_the_wire(wire.rendered_document(rendered))) == rendered


@given(st.dictionaries(st.integers(0, 9), st.binary(max_size=8)))
def test_bytes_arrive_equal(tokens: dict[int, bytes]) -> None:
    assert wire.read_token_bytes(over_the_wire(wire.token_bytes_document(tokens))) == tokens
