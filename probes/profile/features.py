"""The features of a profile: what each is, and which of them a serving stack never varies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Feature(StrEnum):
    """A habit of writing. Its value is a short text; a response that cannot show it has none."""

    ID = "id"
    OBJECT = "object"
    CREATED = "created"
    MODEL = "model"
    SYSTEM_FINGERPRINT = "system_fingerprint"
    ENVELOPE_KEYS = "envelope_keys"
    CHOICE_KEYS = "choice_keys"
    MESSAGE_KEYS = "message_keys"
    USAGE_KEYS = "usage_keys"
    USAGE_PLACEMENT = "usage_placement"
    FINISH = "finish"
    REASONING_FIELD = "reasoning_field"
    CALL_ID = "call_id"
    CALL_INDEX_BASE = "call_index_base"
    CALL_ARGUMENTS = "call_arguments"
    CALL_NAME = "call_name"
    CONTENT_WHEN_CALLING = "content_when_calling"
    ROLE_CHUNK = "role_chunk"
    LAST_CHUNK = "last_chunk"
    DONE = "done"
    LINE_END = "line_end"
    DATA_PREFIX = "data_prefix"
    JSON_SPACING = "json_spacing"
    LOGPROB_SHAPE = "logprob_shape"
    LOGPROB_BYTES = "logprob_bytes"
    TOP_K = "top_k"
    HEADERS = "headers"
    CONTENT_TYPE = "content_type"
    SERVER = "server"
    VIA = "via"
    ERROR_SHAPE = "error_shape"
    TOKENS_PER_CHUNK = "tokens_per_chunk"
    KEEP_ALIVE = "keep_alive"
    LOGPROB_SENTINEL = "logprob_sentinel"


# They follow the load, the sampled tokens or the length of a wait, so that one stack shows several values.
VARYING = frozenset({Feature.TOKENS_PER_CHUNK, Feature.KEEP_ALIVE, Feature.LOGPROB_SENTINEL})
# By protocol or by program the same in every response of one stack to a request of one kind. Nothing but a change of
# the stack, or a second one behind the same address, changes them.
DETERMINISTIC = frozenset(Feature) - VARYING
# Those that every good response has, however it was asked for.
COMMON = frozenset(
    {Feature.ID, Feature.CREATED, Feature.MODEL, Feature.SYSTEM_FINGERPRINT, Feature.SERVER, Feature.VIA}
)


@dataclass(frozen=True, slots=True)
class Profile:
    """The features of one response. `kind` says what was asked for and what came (a stream, calls, an end for want of
    tokens …), since how a stack writes depends on it: only profiles of one kind are compared."""

    kind: str
    features: Mapping[Feature, str]

    @property
    def hash(self) -> str:
        """Equal for responses of one kind by one stack."""
        return _hash(self.kind, self._of(DETERMINISTIC))

    @property
    def variant(self) -> str:
        """Equal for all good responses of one stack, whatever their kind: coarser, for putting samples into groups."""
        # Ids of chats and of plain completions differ by this word alone.
        return _hash("", {name: value.removeprefix("chat") for name, value in self._of(COMMON).items()})

    def _of(self, wanted: frozenset[Feature]) -> dict[str, str]:
        return {feature.value: value for feature, value in self.features.items() if feature in wanted}


def _hash(kind: str, held: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps([kind, held], sort_keys=True).encode()).hexdigest()[:16]
