"""Which drafter an engine works with."""

from __future__ import annotations

from reference_engine.errors import EngineRequestError
from reference_engine.forward.batch import Forward
from reference_engine.model_drafter import ModelDrafter
from reference_engine.ngram_drafter import NgramDrafter
from reference_engine.options import EngineOptions
from reference_engine.spec import Drafter


def drafter_of(options: EngineOptions, forward: Forward, n_layers: int) -> Drafter | None:
    """For the lane of `forward`. Raises EngineRequestError for layers that the model does not have."""
    match options.draft:
        case "none":
            return None
        case "ngram":
            return NgramDrafter()
        case "model":
            return ModelDrafter(forward.first_layers(_layers(options.draft_layers, n_layers)))
        case drafter:
            return drafter


def _layers(asked: int | None, n_layers: int) -> int:
    layers = max(n_layers // 3, 1) if asked is None else asked
    if not 1 <= layers <= n_layers:
        raise EngineRequestError(
            f"{layers} layers cannot draft: the model has {n_layers}.",
            remedy=f"Choose 1 to {n_layers} layers to draft with.",
        )
    return layers
