"""Greedy answers read by the reference, end to end: a real engine gives them, and a real engine reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from monitor.check.greedy import read_by
from monitor.check.reference_side import ask_reference
from monitor.drift.greedy import GAP, MARGIN
from probes import greedy
from probes.plan import Sample
from reference_engine import ServableBackend, load_engine
from reference_engine.bundle import resolve_model

PLAN = greedy.plan(b"s" * 32, b"n" * 16, part=0.1)


@pytest.fixture(scope="module")
def engine() -> Iterator[ServableBackend]:
    opened = load_engine(resolve_model("bundled"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def own(engine: ServableBackend) -> list[Sample]:
    """The reference's own answers."""
    return ask_reference(engine, "fp32", PLAN, lambda: None, nonce=b"n" * 16)


def clearly_others(engine: ServableBackend, samples: list[Sample]) -> float:
    """The share of tokens that the reference would clearly not give."""
    found = read_by(engine, "fp32", samples, lambda: None)
    assert all((one.expected[GAP] >= 0.0).all() for one in found)
    assert all(one.expected_prompt_tokens == one.prompt_tokens for one in found)
    return float(np.mean(np.concatenate([one.expected[MARGIN] for one in found]) > 0.1))


def test_answers_of_the_reference_itself_are_its_own_choice_and_others_are_not(
    engine: ServableBackend, own: list[Sample]
) -> None:
    """One in a hundred may be cut otherwise by our tokenizer, and counted the same."""
    others = ask_reference(engine, "w4-g64", PLAN, lambda: None, nonce=b"n" * 16)

    assert len(own) == len(others) == len(PLAN.items)
    assert clearly_others(engine, own) <= 0.01
    assert clearly_others(engine, others) > 0.03


def test_an_answer_that_was_counted_otherwise_is_left_out(engine: ServableBackend, own: list[Sample]) -> None:
    completion = own[0].completion
    assert completion is not None
    assert completion.usage is not None
    usage = replace(completion.usage, completion_tokens=(completion.usage.completion_tokens or 0) + 5)
    other = replace(own[0], completion=replace(completion, usage=usage))

    read = read_by(engine, "fp32", [other, *own[1:]], lambda: None)
    assert [one.item_key for one in read] == [one.item.key for one in own[1:]]
