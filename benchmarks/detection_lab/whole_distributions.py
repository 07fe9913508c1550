"""The whole next-token distribution of a few prompts of about one entropy, from the bundled model, kept on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import UNCHANGED
from benchmarks.detection_lab.stacks import opened, rendered

Floats = NDArray[np.float64]

# What is asked for one token: many answers may begin either of them.
REQUESTS = ("Write one sentence about the {}.", "Name one {}. Answer with one word.")
THINGS = (
    *("animal", "bird", "fish", "flower", "tree", "fruit", "vegetable", "colour", "metal", "planet", "river"),
    *("mountain", "city", "country", "island", "language", "sport", "game", "instrument", "dance", "drink"),
    *("cheese", "spice", "tool", "vehicle", "building", "room", "garment", "fabric", "gem", "bone", "organ"),
)
# A list of 49,152 pairs each, so few at once.
_AT_ONCE = 8


def entropy(p: Floats) -> float:
    """Nats, of chances [tokens]."""
    some = p[p > 0.0]
    return float(-(some * np.log(some)).sum())


def near_entropy(folder: Path, wanted: float, *, prompts: int, among: int = len(THINGS)) -> Floats:
    """Chances of all tokens, falling, [prompts, tokens]: of the requests about the first so many things those whose
    first token's entropy is nearest to the one wanted, in nats. As a FirstTokenStore, a folder is for one state of the
    lab."""
    path = folder / f"whole-{wanted:g}-{prompts}-of-{among}.npz"
    if not path.exists():
        asked = [request.format(thing) for request in REQUESTS for thing in THINGS[:among]]
        found = sorted(_distributions(asked), key=lambda p: abs(entropy(p) - wanted))[:prompts]
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, p=np.stack(found))
    with np.load(path) as held:
        return np.asarray(held["p"])


def _distributions(asked: Sequence[str]) -> Iterator[Floats]:
    with opened(UNCHANGED) as engine:
        size = engine.describe().vocab_size
        prompts = rendered(engine, UNCHANGED, asked)
        for start in range(0, len(prompts), _AT_ONCE):
            for each in engine.next_tokens(prompts[start : start + _AT_ONCE], top_k=size, profile=UNCHANGED.profile):
                chances = np.exp(np.array([logprob for _, logprob in each.top]))
                yield chances / chances.sum()
