"""How much an engine may take, and how it works ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from reference_engine.spec import Drafter

Draft = Literal["none", "ngram", "model"]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """None of it changes a number, but for `exact`: without it the engine computes in whatever way is quickest, its
    numbers hang on what runs beside them, and it says so. That is for measuring what exactness costs.

    `kept_profiles` altered copies of the weights stay in memory besides the stored ones. `kv_bytes` is the memory for
    keys, values and cached log-probabilities, None for what one whole context needs and half a gigabyte at least.
    `token_budget` rows run in one pass, of `max_running` requests at most. `draft` says what proposes tokens ahead,
    `most_drafted` how many at a time; `draft_layers` are the first layers that `model` drafts with, None for a third of
    them. `threads` None takes all cores.
    """

    kept_profiles: int = 2
    kv_bytes: int | None = None
    token_budget: int = 512
    max_running: int = 64
    draft: Draft | Drafter = "none"
    most_drafted: int = 8
    draft_layers: int | None = None
    threads: int | None = None
    exact: bool = True
