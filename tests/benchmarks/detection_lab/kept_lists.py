"""Made-up first tokens of a known kind, kept where the lab looks for what its stacks list."""

from __future__ import annotations

import numpy as np

from benchmarks.detection_lab.first_tokens import TOP, FirstTokens
from benchmarks.detection_lab.goals.figure import Lab

SPREAD = 0.15


def lists(prompts: int, shift: float = 0.0, seed: int = 0) -> FirstTokens:
    """The same tokens for each seed, some prompts' two likeliest nearly tied; alternating tokens' log-probabilities
    shifted up and down."""
    rng = np.random.default_rng(seed)
    falling = -np.cumsum(rng.exponential(SPREAD, (prompts, TOP)), axis=1)
    unchanged = falling - np.log(np.exp(falling).sum(axis=1, keepdims=True)) - 1e-3
    changed = unchanged + shift * np.where(np.arange(TOP) % 2, 1.0, -1.0)
    order = np.argsort(-changed, axis=1, kind="stable")
    ids = np.broadcast_to(np.arange(TOP, dtype=np.int32), (prompts, TOP))
    return FirstTokens(np.take_along_axis(ids, order, axis=1), np.take_along_axis(changed, order, axis=1), changed)


def others(prompts: int, seed: int = 1) -> FirstTokens:
    """Another model: none of its tokens is one of the first's."""
    made = lists(prompts, seed=seed)
    return FirstTokens(made.ids + TOP, made.logprobs, np.full(made.logprobs.shape, -30.0))


def keep(lab: Lab, name: str, made: FirstTokens) -> None:
    path = lab.first.folder / f"first-{name}.npz"
    np.savez(path, ids=made.ids, logprobs=made.logprobs, at_unchanged=made.at_unchanged)
