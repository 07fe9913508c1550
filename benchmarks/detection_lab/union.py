"""Several stacks' first tokens over one set of tokens for each prompt, as arrays that noise can be laid on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.first_tokens import FirstTokens

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

NO_TOKEN = -1
# Of each stack; less likely tokens are never among the twenty that are listed.
KEPT = 40


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """`ids` [prompts, tokens] are all that any stack has among its `KEPT` likeliest, `NO_TOKEN` beyond; `logprobs` of
    each stack, in nats, [stacks, prompts, tokens], -∞ where it does not, so that it never lists a token."""

    ids: Ids
    logprobs: Floats

    @classmethod
    def of(cls, stacks: Sequence[FirstTokens]) -> Union:
        rows = [
            np.unique(np.concatenate([one.ids[prompt, :KEPT] for one in stacks]))
            for prompt in range(len(stacks[0].ids))
        ]
        width = max(map(len, rows))
        ids = np.full((len(rows), width), NO_TOKEN, dtype=np.int64)
        logprobs = np.full((len(stacks), *ids.shape), -np.inf)
        for prompt, row in enumerate(rows):
            ids[prompt, : len(row)] = row
            for stack, one in enumerate(stacks):
                places = np.searchsorted(row, one.ids[prompt, :KEPT])
                logprobs[stack, prompt, places] = one.logprobs[prompt, :KEPT]
        return cls(ids, logprobs)

    def of_prompts(self, which: slice | NDArray[np.int64]) -> Union:
        return Union(self.ids[which], self.logprobs[:, which])

    def name(self, prompt: int, place: int) -> bytes:
        """A token's bytes, as far as anybody needs to tell it from others."""
        return b"%d" % self.ids[prompt, place]
