"""What several providers' answers to one prompt have in common, so that they can be compared token by token."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from monitor.drift.observation import FloatArray

# Of a prompt; one alone is the top token's, which says little.
FEWEST_TOKENS = 2

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One prompt's values, shape [providers, tokens]; a distance is the sum of |Δ| times `weight`."""

    values: FloatArray
    weight: float


# Each provider's answers to one prompt → what can be compared of them, None where nothing can.
Alike = Callable[[Sequence[Sequence[Answer]]], Table | None]


def common_logprobs(answers: Sequence[Sequence[Mapping[bytes, float]]]) -> Table | None:
    """Each provider's median, in nats, of the tokens that all answers list."""
    count = min(map(len, answers))
    kept = [given[:count] for given in answers]
    if not count:
        return None
    tokens = sorted(set.intersection(*(set(one) for given in kept for one in given)))
    if len(tokens) < FEWEST_TOKENS:
        return None
    values = [np.median([[one[token] for token in tokens] for one in given], axis=0) for given in kept]
    return Table(np.stack(values), 1.0 / len(tokens))


def common_shares(draws: Sequence[Sequence[bytes]]) -> Table | None:
    """Each provider's share of the draws of every token."""
    count = min(map(len, draws))
    if not count:
        return None
    kept = [given[:count] for given in draws]
    tokens = {token: place for place, token in enumerate(sorted({token for given in kept for token in given}))}
    values = np.zeros((len(kept), len(tokens)))
    for row, given in zip(values, kept, strict=True):
        np.add.at(row, [tokens[token] for token in given], 1.0 / count)
    return Table(values, 0.5)
