"""The top of a row of logits: ties by token id."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from reference_engine.distribution import top_tokens

# Few different values, so that ties are everywhere.
TIED = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 4), st.integers(1, 60)), elements=st.sampled_from([-2.0, 0.0, 0.5, 3.0])
)


@given(TIED, st.integers(0, 70))
def test_the_top_is_by_falling_logit_then_by_id(logits: np.ndarray, k: int) -> None:
    expected = [sorted(range(len(row)), key=lambda id_: (-row[id_], id_))[:k] for row in logits.tolist()]

    assert top_tokens(torch.from_numpy(logits), k).tolist() == expected
