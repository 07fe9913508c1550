"""Checks what callers ask of the engine before any tensor is touched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral

from reference_engine.errors import EngineRequestError
from reference_engine.interface import SamplingParams


def checked_ids(ids: Sequence[int], vocab_size: int, longest: int) -> list[int]:
    """The ids of one prompt as a list. Raises EngineRequestError where it is empty, too long, or holds unknown ids."""
    if len(ids) == 0:
        raise EngineRequestError("The prompt has no tokens.", remedy="Give at least one token id.")
    if len(ids) > longest:
        raise EngineRequestError(
            f"The prompt has {len(ids)} tokens, the model's context allows {longest}.", remedy="Shorten the prompt."
        )
    return known_ids(ids, vocab_size)


def known_ids(ids: Sequence[int], vocab_size: int) -> list[int]:
    """The ids as a list; EngineRequestError where one is not in the vocabulary."""
    for id_ in ids:
        if not isinstance(id_, Integral) or not 0 <= id_ < vocab_size:
            raise EngineRequestError(
                f"{id_!r} is not a token id of this model.", remedy=f"Token ids run from 0 to {vocab_size - 1}."
            )
    return [int(id_) for id_ in ids]


def check_top_k(top_k: int, vocab_size: int) -> None:
    if not 0 <= top_k <= vocab_size:
        raise EngineRequestError(f"top_k is {top_k}.", remedy=f"Use a number from 0 to {vocab_size}.")


def check_start(start: int, length: int) -> None:
    if not 0 <= start <= length:
        raise EngineRequestError(
            f"start is {start}.", remedy=f"Use a position from 0 to {length}, the prompt's length."
        )


def check_sampling(params: SamplingParams, vocab_size: int) -> None:
    """Raises EngineRequestError for the first parameter outside its range."""
    if params.max_tokens < 1:
        raise EngineRequestError(f"max_tokens is {params.max_tokens}.", remedy="Ask for at least one token.")
    if not math.isfinite(params.temperature) or params.temperature < 0:
        raise EngineRequestError(f"temperature is {params.temperature}.", remedy="Use a number of at least 0.")
    if not 0 < params.top_p <= 1:
        raise EngineRequestError(f"top_p is {params.top_p}.", remedy="Use a number above 0 and at most 1.")
    if any(not stop for stop in params.stop):
        raise EngineRequestError("A stop string is empty.", remedy="Leave it out.")
    check_top_k(params.top_k_logprobs, vocab_size)
