"""What the detectors see of one sample: its first token's alternatives, and what the reference expects of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Observation:
    """One answer, as evidence.

    tokens, logprobs: the endpoint's alternatives as bytes, and their log-probabilities in nats; censored ones left out.
    reference_tokens: the compared token set, the reference's top-k, most likely first (empty without a reference).
    expected: candidate name (a profile, or a template variant) -> log-probability of each reference token, shape [k].
    prompt_tokens: usage as the endpoint reports it; expected_prompt_tokens: by the reference's tokenizer and template.
    """

    item_key: str
    rep: int
    anchor: bool
    tokens: tuple[bytes, ...]
    logprobs: FloatArray
    sampled: bytes | None
    reference_tokens: tuple[bytes, ...]
    expected: Mapping[str, FloatArray]
    prompt_tokens: int | None
    expected_prompt_tokens: int | None
    response_id: str | None
