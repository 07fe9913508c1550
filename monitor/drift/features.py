"""What tiers see of a change: features, their states, and what is said of each to people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from monitor.drift.evidence import Tier


class Feature(StrEnum):
    """What tiers see of a change since the baseline. Sizes: FIRST_TOKENS in shifts that int8 would make, GREEDY in
    percent of tokens that no longer match."""

    COUNTS = "counts"
    SURFACE = "surface"
    TIMING = "timing"
    FIRST_TOKENS = "first-tokens"
    SHAPE = "shape"
    PIECES = "pieces"
    REPEATS = "repeats"
    GREEDY = "greedy"
    CONTEXT = "context"
    SAMPLER = "sampler"
    COLLISIONS = "collisions"
    TOPICS = "topics"
    TRIGGERS = "triggers"
    TOOL_FORM = "tool-form"
    STREAM_TWINS = "stream-twins"
    REFUSALS = "refusals"


TIERS: Mapping[Feature, tuple[Tier, ...]] = {
    Feature.COUNTS: (Tier.PROTOCOL,),
    Feature.SURFACE: (Tier.PROTOCOL,),
    Feature.TIMING: (Tier.PROTOCOL,),
    Feature.FIRST_TOKENS: (Tier.LOGPROBS, Tier.BORDER),
    Feature.SHAPE: (Tier.LOGPROBS,),
    Feature.PIECES: (Tier.LOGPROBS,),
    Feature.REPEATS: (Tier.LOGPROBS, Tier.BORDER),
    Feature.GREEDY: (Tier.GREEDY,),
    Feature.CONTEXT: (Tier.GREEDY,),
    Feature.SAMPLER: (Tier.SAMPLING,),
    Feature.COLLISIONS: (Tier.SAMPLING,),
    Feature.TOPICS: (Tier.DISTRIBUTION,),
    Feature.TRIGGERS: (Tier.CAPABILITY,),
    Feature.TOOL_FORM: (Tier.CAPABILITY,),
    Feature.STREAM_TWINS: (Tier.CAPABILITY,),
    Feature.REFUSALS: (Tier.CAPABILITY,),
}

# The states of each feature, the unchanged one first, with what is said to people.
STATES: Mapping[Feature, Mapping[str, str]] = {
    Feature.COUNTS: {
        "same": "prompts count as many tokens as before",
        "fewer": "every prompt counts fewer tokens, by a constant",
        "more": "every prompt counts more tokens, by a constant",
        "varying": "prompt token counts moved, by an amount that differs from prompt to prompt",
        "two": "prompt token counts take two values",
    },
    Feature.SURFACE: {
        "same": "ids, keys and fingerprints are written as before",
        "moved": "ids, keys or fingerprints are written otherwise",
    },
    Feature.TIMING: {
        "same": "times are as before",
        "step": "times moved by a step",
        "two": "times fall into two groups",
    },
    Feature.FIRST_TOKENS: {
        "same": "first tokens did not move",
        "slight": "first tokens moved by less than int8 would make",
        "moderate": "first tokens moved by what 8-bit weights would make",
        "large": "first tokens moved by what 4-bit weights or another prompt would make",
        "huge": "first tokens moved by more than 4-bit weights would make",
    },
    Feature.SHAPE: {
        "scattered": "log-probabilities scatter around their past",
        "rescaled": "log-probabilities are their past times one factor",
        "topical": "log-probabilities moved on some prompts only",
    },
    Feature.PIECES: {"same": "tokens are cut as before", "other": "tokens are cut otherwise"},
    Feature.REPEATS: {
        "same": "repeats differ as they did",
        "other": "repeats differ otherwise than they did",
        "none": "repeats do not differ at all",
        "clusters": "repeats fall into groups",
    },
    Feature.GREEDY: {
        "same": "greedy tokens match the reference as before",
        "few": "few greedy tokens no longer match",
        "some": "a tenth or so of greedy tokens no longer match",
        "many": "many greedy tokens no longer match",
    },
    Feature.CONTEXT: {
        "level": "mismatches do not depend on the length of the context",
        "grows": "mismatches grow with the length of the context",
    },
    Feature.SAMPLER: {
        "as-asked": "tokens are drawn as was asked",
        "temperature": "tokens are drawn at another temperature",
        "top-p": "tokens are drawn with another top-p",
        "top-k": "tokens are drawn with another top-k",
        "penalty": "tokens are drawn with another penalty",
    },
    Feature.COLLISIONS: {
        "expected": "answers repeat as often as they should",
        "more": "answers repeat more often than they should",
    },
    Feature.TOPICS: {
        "same": "longer answers are distributed as before",
        "moved": "longer answers are distributed otherwise",
    },
    Feature.TRIGGERS: {"same": "tools are called as often", "moved": "tools are called more or less often"},
    Feature.TOOL_FORM: {"same": "tool calls are well formed as before", "moved": "tool calls are formed otherwise"},
    Feature.STREAM_TWINS: {
        "same": "streamed answers agree with their twins",
        "differ": "streamed answers differ from their twins",
    },
    Feature.REFUSALS: {"same": "as much is refused as before", "moved": "more or less is refused"},
}

# Ends of the states of features that have a size.
ENDS: Mapping[Feature, tuple[float, ...]] = {
    Feature.FIRST_TOKENS: (0.3, 0.8, 4.0, 12.0),
    Feature.GREEDY: (0.7, 4.0, 20.0),
}
