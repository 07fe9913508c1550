"""Logits to log-probabilities: exact normaliser, ties by token id, ranks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import logsumexp

from reference_engine.distribution import Wanted, distributions, log_normaliser, top_tokens

# Few different values, so that ties are everywhere.
TIED = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 4), st.integers(1, 60)), elements=st.sampled_from([-2.0, 0.0, 0.5, 3.0])
)


@given(TIED, st.integers(0, 70))
def test_the_top_is_by_falling_logit_then_by_id(logits: np.ndarray, k: int) -> None:
    expected = [sorted(range(len(row)), key=lambda id_: (-row[id_], id_))[:k] for row in logits.tolist()]

    assert top_tokens(torch.from_numpy(logits), k).tolist() == expected


@given(TIED, st.data())
def test_a_rank_is_the_place_in_the_whole_order(logits: np.ndarray, data: st.DataObject) -> None:
    token = data.draw(st.integers(0, logits.shape[1] - 1))
    row = logits[0].tolist()

    [only] = distributions(torch.from_numpy(logits[:1]), [Wanted(4, token)], 3)

    assert only.rank == sorted(range(len(row)), key=lambda id_: (-row[id_], id_)).index(token)


@pytest.mark.parametrize("spread", [0.1, 3.0, 30.0])
@pytest.mark.parametrize("offset", [-500.0, 0.0, 500.0])
def test_the_normaliser_is_good_to_a_few_parts_in_ten_million(spread: float, offset: float) -> None:
    logits = torch.from_numpy(np.random.default_rng(2).normal(offset, spread, (4, 49152)).astype(np.float32))

    ours = log_normaliser(logits)[:, 0].numpy()

    assert np.abs(ours - logsumexp(logits.double().numpy(), axis=1)).max() < 2e-7


def test_wanted_tokens_are_read_out_wherever_they_rank() -> None:
    logits = torch.tensor([[1.0, 4.0, 2.0, 3.0]])

    [only] = distributions(logits, [Wanted(9, 2, (0, 3))], 1)

    expected = torch.log_softmax(logits.double(), dim=1)[0].tolist()
    assert [id_ for id_, _ in only.top] == [1]
    assert only.top[0][1] == pytest.approx(expected[1], abs=1e-7)
    assert only.chosen == pytest.approx({0: expected[0], 3: expected[3]}, abs=1e-7)
    assert (only.index, only.token_id, only.rank) == (9, 2, 2)
    assert only.logprob == pytest.approx(expected[2], abs=1e-7)
    assert only.tail_mass == pytest.approx(1 - np.exp(expected[1]), abs=1e-7)
