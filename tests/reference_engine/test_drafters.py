"""What proposes tokens ahead."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_engine import SamplingParams
from reference_engine.errors import EngineRequestError
from reference_engine.ngram_drafter import NgramDrafter, NgramIndex
from reference_engine.options import EngineOptions
from reference_engine.sample import Draw
from reference_engine.sched.request import Request
from reference_engine.spec import Drafting, proven
from tests.reference_engine.engines import opened
from tests.reference_engine.tiny_models import TinyModel


def followed_last_time(known: Sequence[int], most: int) -> Sequence[int]:
    """The plainest way: the longest of the last 4, 3 or 2 tokens that stood there before, the last time they did."""
    for length in range(min(4, len(known) - 1), 1, -1):
        for at in range(len(known) - length - 1, -1, -1):
            if known[at : at + length] == known[-length:]:
                return known[at + length : at + length + most]
    return ()


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=12), min_size=1), st.integers(1, 9))
def test_the_index_finds_what_a_scan_of_all_tokens_finds(grown: list[list[int]], most: int) -> None:
    known: list[int] = []
    index = NgramIndex(known)

    for more in grown:
        known += more
        assert list(index.following(most)) == list(followed_last_time(known, most))


def drafting(request: Request, most: int = 3) -> Drafting:
    return Drafting(request, most, (0,), lambda position: Draw(0.0, 1.0, 0, position))


def test_each_request_has_an_index_of_its_own_that_goes_with_it() -> None:
    drafter = NgramDrafter()
    one, other = Request("a", [1, 2, 3, 1, 2], max_tokens=9), Request("b", [1, 2, 4, 1, 2], max_tokens=9)

    proposed = [list(tokens) for tokens in drafter.proposals([drafting(one), drafting(other, 1)])]

    assert proposed == [[3, 1, 2], [4]]
    del one, other
    gc.collect()
    assert not drafter._indexes


@pytest.mark.parametrize(
    ("drafted", "sampled", "kept"),
    [([], [5], [5]), ([5, 6], [5, 6, 7], [5, 6, 7]), ([5, 6], [5, 1, 7], [5, 1]), ([5, 6], [1, 6, 7], [1])],
)
def test_tokens_count_up_to_the_first_that_was_not_foreseen(
    drafted: list[int], sampled: list[int], kept: list[int]
) -> None:
    assert list(proven(drafted, sampled)) == kept


@pytest.mark.parametrize("layers", [0, 4])
def test_layers_that_the_model_does_not_have_cannot_draft(tiny_llama: TinyModel, layers: int) -> None:
    with pytest.raises(EngineRequestError, match="the model has 3"):
        opened(tiny_llama, EngineOptions(draft="model", draft_layers=layers))


def test_all_layers_foresee_every_token(tiny_llama: TinyModel) -> None:
    engine = opened(tiny_llama, EngineOptions(draft="model", draft_layers=3))

    params = SamplingParams(max_tokens=60, temperature=1.0, top_p=0.9, seed=3, ignore_eos=True)
    tokens = list(engine.generate([5, 6, 7], params))

    counts, passes = engine.lanes()[0].counts, len(engine.trace())
    engine.close()
    assert counts.accepted_tokens == counts.drafted_tokens == len(tokens) - passes > 40
