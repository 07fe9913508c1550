"""What each cause of a change moves, and what it leaves: the discriminating table of DETECTION.md §2.7, as data.

Chances that a feature is seen in each of its states when that cause is at work. Sizes of shifts and rates of mismatches
follow tables D and E; all else is judgement, which G11 is there to test. None is below 1 %: no single feature excludes
a cause. Where a feature says nothing of a cause the row is even, and all rows of `NONE`, for what is on no list, are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from monitor.drift.features import STATES, Feature


class Kind(StrEnum):
    TEMPLATE = "template"
    SYSTEM_PROMPT = "system-prompt"
    TOKENIZER = "tokenizer"
    SWAP = "model"
    WEIGHTS = "weights"
    KV_CACHE = "kv-cache"
    ENGINE = "engine"
    TEMPERATURE = "temperature"
    TOP_P = "top-p"
    TOP_K = "top-k"
    PENALTY = "penalty"
    TOOL_PARSER = "tool-parser"
    FINE_TUNE = "fine-tune"
    CACHE = "cache"
    MIXTURE = "mixture"
    NONE = "none-of-these"


Row = Mapping[Feature, tuple[float, ...] | None]
_STILL = 0.93

# What moves; None where nothing is known. A feature that is not named stays as it is, with `_STILL`.
_PROMPT: Row = {
    Feature.FIRST_TOKENS: (0.02, 0.03, 0.20, 0.60, 0.15),
    Feature.SHAPE: (0.60, 0.05, 0.35),
    Feature.GREEDY: (0.03, 0.12, 0.60, 0.25),
    Feature.TOPICS: (0.30, 0.70),
    Feature.TRIGGERS: (0.30, 0.70),
}
_DRAWN: Row = {
    Feature.FIRST_TOKENS: (0.80, 0.05, 0.08, 0.06, 0.01),
    Feature.SHAPE: (0.35, 0.60, 0.05),
    Feature.TOPICS: (0.20, 0.80),
    Feature.TRIGGERS: (0.80, 0.20),
}
_MOVES: Mapping[Kind, Row] = {
    Kind.TEMPLATE: {
        **_PROMPT,
        Feature.COUNTS: (0.25, 0.30, 0.35, 0.08, 0.02),
        Feature.TOOL_FORM: (0.75, 0.25),
        Feature.REFUSALS: (0.60, 0.40),
    },
    Kind.SYSTEM_PROMPT: {
        **_PROMPT,
        Feature.COUNTS: (0.12, 0.02, 0.83, 0.01, 0.02),
        Feature.REFUSALS: (0.40, 0.60),
    },
    Kind.TOKENIZER: {
        Feature.COUNTS: (0.03, 0.03, 0.03, 0.89, 0.02),
        Feature.PIECES: (0.05, 0.95),
        **dict.fromkeys((Feature.FIRST_TOKENS, Feature.SHAPE, Feature.GREEDY, Feature.SAMPLER)),
        **dict.fromkeys((Feature.TOPICS, Feature.TRIGGERS, Feature.TOOL_FORM, Feature.REFUSALS)),
    },
    Kind.SWAP: {
        Feature.COUNTS: (0.30, 0.10, 0.10, 0.48, 0.02),
        Feature.SURFACE: (0.50, 0.50),
        Feature.TIMING: (0.30, 0.65, 0.05),
        Feature.FIRST_TOKENS: (0.01, 0.01, 0.05, 0.23, 0.70),
        Feature.SHAPE: None,
        Feature.PIECES: (0.50, 0.50),
        Feature.REPEATS: None,
        Feature.GREEDY: (0.01, 0.02, 0.12, 0.85),
        Feature.TOPICS: (0.05, 0.95),
        Feature.TRIGGERS: (0.10, 0.90),
        Feature.TOOL_FORM: (0.50, 0.50),
        Feature.REFUSALS: (0.30, 0.70),
    },
    Kind.WEIGHTS: {
        Feature.SURFACE: (0.80, 0.20),
        Feature.TIMING: (0.45, 0.50, 0.05),
        Feature.FIRST_TOKENS: (0.03, 0.17, 0.40, 0.36, 0.04),
        Feature.SHAPE: (0.88, 0.04, 0.08),
        Feature.REPEATS: (0.70, 0.26, 0.02, 0.02),
        Feature.GREEDY: (0.15, 0.40, 0.38, 0.07),
        Feature.TOPICS: (0.60, 0.40),
        Feature.TRIGGERS: (0.75, 0.25),
    },
    Kind.KV_CACHE: {
        Feature.TIMING: (0.60, 0.35, 0.05),
        Feature.FIRST_TOKENS: (0.75, 0.20, 0.03, 0.01, 0.01),
        Feature.GREEDY: (0.20, 0.50, 0.25, 0.05),
        Feature.CONTEXT: (0.08, 0.92),
    },
    Kind.ENGINE: {
        Feature.SURFACE: (0.25, 0.75),
        Feature.TIMING: (0.25, 0.70, 0.05),
        Feature.FIRST_TOKENS: (0.40, 0.50, 0.08, 0.01, 0.01),
        Feature.REPEATS: (0.30, 0.60, 0.05, 0.05),
        Feature.GREEDY: (0.45, 0.48, 0.06, 0.01),
        Feature.TOOL_FORM: (0.60, 0.40),
        Feature.STREAM_TWINS: (0.75, 0.25),
    },
    Kind.TEMPERATURE: {
        **_DRAWN,
        Feature.SAMPLER: (0.06, 0.85, 0.03, 0.03, 0.03),
        Feature.COLLISIONS: (0.70, 0.30),
    },
    Kind.TOP_P: {**_DRAWN, Feature.SAMPLER: (0.06, 0.03, 0.85, 0.03, 0.03)},
    Kind.TOP_K: {**_DRAWN, Feature.SAMPLER: (0.06, 0.03, 0.03, 0.85, 0.03)},
    Kind.PENALTY: {**_DRAWN, Feature.SAMPLER: (0.06, 0.03, 0.03, 0.03, 0.85)},
    Kind.TOOL_PARSER: {
        Feature.TRIGGERS: (0.60, 0.40),
        Feature.TOOL_FORM: (0.03, 0.97),
        Feature.STREAM_TWINS: (0.45, 0.55),
    },
    Kind.FINE_TUNE: {
        Feature.FIRST_TOKENS: (0.15, 0.40, 0.35, 0.08, 0.02),
        Feature.SHAPE: (0.30, 0.05, 0.65),
        Feature.GREEDY: (0.10, 0.40, 0.40, 0.10),
        Feature.TOPICS: (0.08, 0.92),
        Feature.TRIGGERS: (0.50, 0.50),
        Feature.REFUSALS: (0.40, 0.60),
    },
    Kind.CACHE: {
        Feature.TIMING: (0.20, 0.10, 0.70),
        Feature.REPEATS: (0.10, 0.03, 0.84, 0.03),
        Feature.COLLISIONS: (0.04, 0.96),
    },
    Kind.MIXTURE: {
        Feature.COUNTS: (0.60, 0.02, 0.02, 0.06, 0.30),
        Feature.SURFACE: (0.50, 0.50),
        Feature.TIMING: (0.30, 0.10, 0.60),
        Feature.FIRST_TOKENS: (0.10, 0.25, 0.35, 0.25, 0.05),
        Feature.SHAPE: None,
        Feature.REPEATS: (0.08, 0.10, 0.02, 0.80),
        Feature.GREEDY: (0.10, 0.30, 0.40, 0.20),
        Feature.TOPICS: (0.50, 0.50),
        Feature.TRIGGERS: (0.50, 0.50),
    },
    Kind.NONE: dict.fromkeys(Feature),
}


def chances(kind: Kind, feature: Feature) -> tuple[float, ...]:
    """Of the feature's states, in the order of STATES, when this cause is at work."""
    states = len(STATES[feature])
    row = _MOVES[kind].get(feature, (_STILL, *((1.0 - _STILL) / (states - 1),) * (states - 1)))
    return row if row is not None else (1.0 / states,) * states
