"""Log-probabilities of a prompt's tokens, in vLLM's form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from reference_engine.interface import Scored, TokenDistribution
from reference_engine.server.logprobs import TokenBytes, finite


class PromptToken(TypedDict):
    """`rank` counts from 1."""

    logprob: float
    rank: int
    decoded_token: str


def prompt_logprobs(scored: Scored, token_bytes: TokenBytes) -> list[dict[str, PromptToken] | None]:
    """One entry for each token of the prompt that was scored from its start: None for the first, which nothing
    precedes; then the token itself and the most likely ones, by token id."""
    positions = scored.positions[: len(scored.ids)]
    return [None if position.index == 0 else _tokens(position, token_bytes) for position in positions]


def _tokens(position: TokenDistribution, token_bytes: TokenBytes) -> dict[str, PromptToken]:
    found: dict[str, PromptToken] = {}
    for token_id, logprob, rank in _ranked(position):
        decoded = token_bytes(token_id).decode(errors="replace")
        found.setdefault(str(token_id), {"logprob": finite(logprob), "rank": rank + 1, "decoded_token": decoded})
    return found


def _ranked(position: TokenDistribution) -> Iterator[tuple[int, float, int]]:
    if position.token_id is not None and position.logprob is not None and position.rank is not None:
        yield position.token_id, position.logprob, position.rank
    for rank, (token_id, logprob) in enumerate(position.top):
        yield token_id, logprob, rank
