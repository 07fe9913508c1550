"""The distribution of the first token of the answer, for each change and prompt, as arrays that are kept on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import UNCHANGED, Change
from benchmarks.detection_lab.prompts import one_token_words
from benchmarks.detection_lab.stacks import opened, rendered

TOP = 64

Floats = NDArray[np.float64]
Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class FirstTokens:
    """Of each prompt the `TOP` most likely first tokens with their log-probabilities, most likely first, and the
    log-probabilities of the tokens that are most likely under the unchanged stack; shapes [prompts, TOP]."""

    ids: Ids
    logprobs: Floats
    at_unchanged: Floats

    def first(self, prompts: int) -> FirstTokens:
        return FirstTokens(self.ids[:prompts], self.logprobs[:prompts], self.at_unchanged[:prompts])

    def joined(self, more: FirstTokens) -> FirstTokens:
        return FirstTokens(
            np.concatenate([self.ids, more.ids]),
            np.concatenate([self.logprobs, more.logprobs]),
            np.concatenate([self.at_unchanged, more.at_unchanged]),
        )


@dataclass(frozen=True, slots=True)
class FirstTokenStore:
    """One file for each change in `folder`; only prompts that are not there yet are computed. It knows changes by their
    names alone: a folder is for one state of the lab."""

    folder: Path
    threads: int | None = None

    def get(self, change: Change, prompts: int) -> FirstTokens:
        path = self.folder / f"first-{change.name}.npz"
        held = _read(path)
        have = 0 if held is None else len(held.ids)
        if held is None or have < prompts:
            at = None if change is UNCHANGED else self.get(UNCHANGED, prompts).ids[have:]
            found = first_tokens(change, slice(have, prompts), at, threads=self.threads)
            held = found if held is None else held.joined(found)
            self.folder.mkdir(parents=True, exist_ok=True)
            np.savez(path, ids=held.ids, logprobs=held.logprobs, at_unchanged=held.at_unchanged)
        return held.first(prompts)


def _read(path: Path) -> FirstTokens | None:
    if not path.exists():
        return None
    with np.load(path) as held:
        return FirstTokens(held["ids"], held["logprobs"], held["at_unchanged"])


def first_tokens(change: Change, which: slice, at: Ids | None, *, threads: int | None = None) -> FirstTokens:
    """Of those one-token prompts; `at` are the unchanged stack's tokens, None where it is the one asked."""
    with opened(change, threads=threads) as engine:
        words = one_token_words(engine, engine.describe().vocab_size, which.stop)[which]
        chosen = None if at is None else at.tolist()
        found = engine.next_tokens(rendered(engine, change, words), top_k=TOP, token_ids=chosen, profile=change.profile)
    ids = np.array([[id_ for id_, _ in each.top] for each in found], dtype=np.int32)
    logprobs = np.array([[logprob for _, logprob in each.top] for each in found])
    if at is None:
        return FirstTokens(ids, logprobs, logprobs)
    return FirstTokens(
        ids, logprobs, np.array([[each.chosen[id_] for id_ in asked] for each, asked in zip(found, at, strict=True)])
    )
