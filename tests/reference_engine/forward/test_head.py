"""What is read of distributions, against sorting and summing all logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reference_engine.forward.arithmetic import Arithmetic
from reference_engine.forward.batch import Asked
from reference_engine.forward.head import TILE, Head
from tests.reference_engine.forward.sequences import EVERY_PROFILE

VOCABULARY = 2 * TILE + 77
ROWS = 70


@pytest.fixture(scope="module")
def weight() -> torch.Tensor:
    """Whole numbers, so that many tokens are tied."""
    return torch.randint(-1, 2, (VOCABULARY, 12), generator=torch.Generator().manual_seed(0)).float()


def head(weight: torch.Tensor, profile: str) -> Head:
    recipe = EVERY_PROFILE[profile]
    return Head(weight, Arithmetic(recipe, 1e-6), 4, oracle=recipe.oracle)


@pytest.mark.parametrize(("profile", "dtype"), [("fp32", torch.float32), ("fp64", torch.float64)])
def test_tops_ranks_and_normalisers_are_those_of_all_logits(
    weight: torch.Tensor, profile: str, dtype: torch.dtype
) -> None:
    hidden = torch.randint(-2, 3, (ROWS, 12), generator=torch.Generator().manual_seed(1)).to(dtype)
    logprobs = torch.log_softmax(hidden.double() @ weight.double().T, dim=1).numpy()
    own = np.arange(ROWS, dtype=np.int32) * (VOCABULARY // ROWS)
    own[3] = -1
    chosen = np.tile(np.array([0, TILE, VOCABULARY - 1, -1], dtype=np.int32), (ROWS, 1))

    read = head(weight, profile).read_out(hidden, Asked(30, own, chosen))

    published = read.chosen_logits.astype(np.float64) - read.log_normaliser[:, None]
    assert np.abs(published[:, :3] - logprobs[:, chosen[0, :3]]).max() < 1e-6
    assert np.isnan(published[:, 3]).all()
    order = np.stack([np.lexsort((np.arange(VOCABULARY), -row)) for row in np.round(logprobs, 9)])
    assert np.array_equal(read.top_ids, order[:, :30])
    for row, id_ in enumerate(own):
        if id_ < 0:
            assert (np.isnan(read.own_logit[row]), read.own_rank[row]) == (True, -1)
        else:
            assert order[row, read.own_rank[row]] == id_
            assert read.own_logit[row] - read.log_normaliser[row] == pytest.approx(logprobs[row, id_], abs=1e-6)


def test_a_top_of_everything_and_of_nothing(weight: torch.Tensor) -> None:
    hidden, nothing = torch.randn(2, 12), np.empty((2, 0), dtype=np.int32)
    own = np.array([-1, -1], dtype=np.int32)

    everything = head(weight, "fp32").read_out(hidden, Asked(VOCABULARY, own, nothing))

    assert np.array_equal(np.sort(everything.top_ids), np.tile(np.arange(VOCABULARY), (2, 1)))
    assert (np.diff(everything.top_logits) <= 0).all()
    assert head(weight, "fp32").read_out(hidden, Asked(0, own, nothing)).top_ids.shape == (2, 0)


@pytest.mark.parametrize(("profile", "dtype"), [("fp32", torch.float32), ("fp64", torch.float64)])
def test_reading_logits_gives_the_bits_of_reading_hidden_states(
    weight: torch.Tensor, profile: str, dtype: torch.dtype
) -> None:
    hidden = torch.randn((ROWS, 12), dtype=dtype)
    own = np.arange(ROWS, dtype=np.int32)
    reader = head(weight, profile)
    expected = reader.read_out(hidden, Asked(5, own, own[:, None]))
    logits = reader.logits(hidden)

    whole = reader.read_logits(logits, Asked(5, own, own[:, None]))
    one = reader.read_logits(logits[9:10], Asked(5, own[9:10], own[9:10, None]))

    for field in expected.__dataclass_fields__:
        assert np.array_equal(getattr(whole, field), getattr(expected, field))
        assert np.array_equal(getattr(one, field)[0], getattr(expected, field)[9])


def test_a_log_probability_that_rounds_to_nothing_is_a_plain_zero() -> None:
    sure = torch.tensor([[0.0], [1.0]])

    published = head(sure, "fp64").logits(torch.tensor([[40.0]], dtype=torch.float64)).numpy()

    assert published.tolist() == [[-40.0, 0.0]]
    assert not np.signbit(published[0, 1])


def test_masked_logits_add_nothing(weight: torch.Tensor) -> None:
    logits = torch.full((1, VOCABULARY), float("-inf"))
    logits[0, [5, VOCABULARY - 1]] = torch.tensor([1.0, 2.0])
    own = np.array([7], dtype=np.int32)

    read = head(weight, "fp32").read_logits(logits, Asked(2, own, own[:, None]))

    assert read.log_normaliser[0] == pytest.approx(np.logaddexp(1, 2), abs=1e-7)
    assert read.top_ids.tolist() == [[VOCABULARY - 1, 5]]
    assert (read.own_logit[0], read.own_rank[0]) == (-np.inf, 8)


def test_logits_read_one_by_one_are_the_logits(weight: torch.Tensor) -> None:
    hidden, ids = torch.randn(5, 12), np.arange(5, dtype=np.int32) * 3000

    read = head(weight, "fp32").read_out(hidden, Asked(1, ids, ids[:, None]))

    logits = head(weight, "fp32").logits(hidden).numpy()
    assert np.array_equal(read.own_logit, logits[np.arange(5), ids])
    assert np.array_equal(read.chosen_logits[:, 0], read.own_logit)
    assert np.array_equal(read.top_logits[:, 0], logits.max(axis=1))
