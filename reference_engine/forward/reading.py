"""Read-outs of some rows, put together and taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from reference_engine.forward.batch import ReadOut

_NAMES = tuple(field.name for field in fields(ReadOut))


def joined(parts: Sequence[ReadOut]) -> ReadOut:
    """The rows of all parts in order; all have as many top entries and chosen tokens."""
    if len(parts) == 1:
        return parts[0]
    return ReadOut(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in _NAMES})


def part(read: ReadOut, rows: slice, top_k: int, chosen: int) -> ReadOut:
    """Some rows, with their first `top_k` most likely and first `chosen` chosen tokens."""
    return ReadOut(
        log_normaliser=read.log_normaliser[rows],
        top_ids=read.top_ids[rows, :top_k],
        top_logits=read.top_logits[rows, :top_k],
        own_logit=read.own_logit[rows],
        own_rank=read.own_rank[rows],
        chosen_logits=read.chosen_logits[rows, :chosen],
    )
