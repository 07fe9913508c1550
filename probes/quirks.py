"""The named deviations from the wire protocol, and what each of them does to an answer's standing."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Disposition(StrEnum):
    """What an answer is good for. The members stand from best to worst."""

    ACCEPT = "accept"
    """In contract, or harmless."""
    NORMALISE = "normalise"
    """Repaired: the repaired value is scored, the quirk kept."""
    FLAG = "flag"
    """Scored, as a failure of the named kind or beside the score."""
    ERROR = "error"
    """An availability event: no quality score."""

    @property
    def severity(self) -> int:
        """0 for accept, up to 3 for error."""
        return _SEVERITY[self]

    @classmethod
    def worst(cls, dispositions: Iterable[Disposition]) -> Disposition:
        """The worst of them; accept where there are none."""
        return max(dispositions, key=_SEVERITY.__getitem__, default=cls.ACCEPT)


_SEVERITY = {disposition: severity for severity, disposition in enumerate(Disposition)}


class Quirk(StrEnum):
    """A deviation seen while reading an answer. The value is its stable name in tables and exports."""

    SSE_NON_JSON_DATA = "SSE_NON_JSON_DATA"
    SSE_EMPTY_DATA = "SSE_EMPTY_DATA"
    SSE_FRAME_CORRUPT = "SSE_FRAME_CORRUPT"
    SSE_MISSING_DONE = "SSE_MISSING_DONE"
    STREAM_TRUNCATED = "STREAM_TRUNCATED"
    STREAM_UNREQUESTED = "STREAM_UNREQUESTED"
    INBAND_ERROR = "INBAND_ERROR"
    HTTP_200_ERROR_BODY = "HTTP_200_ERROR_BODY"
    RATE_LIMITED = "RATE_LIMITED"
    EMPTY_CHOICES = "EMPTY_CHOICES"
    ENGINE_ABORT = "ENGINE_ABORT"
    ENVELOPE_ID_EMPTY = "ENVELOPE_ID_EMPTY"
    ENVELOPE_OBJECT_WRONG = "ENVELOPE_OBJECT_WRONG"
    FINISH_NONSTANDARD = "FINISH_NONSTANDARD"
    FINISH_DUPLICATE = "FINISH_DUPLICATE"
    FINISH_MASKS_LENGTH = "FINISH_MASKS_LENGTH"
    FINISH_STOP_WITH_TOOL_CALLS = "FINISH_STOP_WITH_TOOL_CALLS"
    FINISH_TOOLS_WITHOUT_CALLS = "FINISH_TOOLS_WITHOUT_CALLS"
    TC_INDEX_MISSING = "TC_INDEX_MISSING"
    TC_INDEX_REUSED = "TC_INDEX_REUSED"
    TC_INDEX_NONZERO_BASE = "TC_INDEX_NONZERO_BASE"
    TC_ID_MISSING = "TC_ID_MISSING"
    TC_ID_DUPLICATE = "TC_ID_DUPLICATE"
    TC_NAME_REPEATED = "TC_NAME_REPEATED"
    TC_NAME_FRAGMENTED = "TC_NAME_FRAGMENTED"
    TC_META_REEMITTED = "TC_META_REEMITTED"
    TC_ARGS_WITH_FINISH = "TC_ARGS_WITH_FINISH"
    TC_ARGS_NOT_STRING = "TC_ARGS_NOT_STRING"
    TC_ARGS_EMPTY = "TC_ARGS_EMPTY"
    TC_ARGS_DUPLICATED = "TC_ARGS_DUPLICATED"
    TC_ARGS_INVALID_JSON = "TC_ARGS_INVALID_JSON"
    TC_ARGS_DOUBLE_ENCODED = "TC_ARGS_DOUBLE_ENCODED"
    TC_ARGS_NESTED_STRINGIFIED = "TC_ARGS_NESTED_STRINGIFIED"
    TC_ARGS_TYPE_STRINGIFIED = "TC_ARGS_TYPE_STRINGIFIED"
    TC_ARGS_CONTROL_CHAR = "TC_ARGS_CONTROL_CHAR"
    TC_ARGS_PREFIX_JUNK = "TC_ARGS_PREFIX_JUNK"
    TC_AS_TEXT = "TC_AS_TEXT"
    TC_UNKNOWN_TOOL = "TC_UNKNOWN_TOOL"
    TC_SCHEMA_MISMATCH = "TC_SCHEMA_MISMATCH"
    TC_VALUE_MISMATCH = "TC_VALUE_MISMATCH"
    TC_PARALLEL_NOT_HONOURED = "TC_PARALLEL_NOT_HONOURED"
    TC_REPETITION_RUNAWAY = "TC_REPETITION_RUNAWAY"
    TC_PROVIDER_REJECTED = "TC_PROVIDER_REJECTED"
    SPECIAL_TOKEN_LEAK = "SPECIAL_TOKEN_LEAK"  # noqa: S105 - a quirk's name
    REASONING_FIELD_VARIANT = "REASONING_FIELD_VARIANT"
    REASONING_ONLY = "REASONING_ONLY"
    CONTENT_LIST_PARTS = "CONTENT_LIST_PARTS"
    LONE_SURROGATE = "LONE_SURROGATE"
    REPLACEMENT_CHAR = "REPLACEMENT_CHAR"
    LP_NULL = "LP_NULL"
    LP_LEGACY_SHAPE = "LP_LEGACY_SHAPE"
    LP_CHAT_SHAPE_ON_COMPLETIONS = "LP_CHAT_SHAPE_ON_COMPLETIONS"
    LP_POSITIVE = "LP_POSITIVE"
    LP_SENTINEL = "LP_SENTINEL"
    LP_PROCESSED = "LP_PROCESSED"
    LP_PROCESSED_SUSPECT = "LP_PROCESSED_SUSPECT"
    LP_TOPK_SHORT = "LP_TOPK_SHORT"
    LP_MISSING_BYTES = "LP_MISSING_BYTES"
    LP_BYTES_REPLACEMENT = "LP_BYTES_REPLACEMENT"
    LP_SAMPLED_NOT_IN_TOP = "LP_SAMPLED_NOT_IN_TOP"
    LP_VOCAB_MARKER = "LP_VOCAB_MARKER"
    LP_REPEATED_POSITION = "LP_REPEATED_POSITION"
    LP_INCONSISTENT_SAMPLED = "LP_INCONSISTENT_SAMPLED"
    LP_PARTIAL_COVERAGE = "LP_PARTIAL_COVERAGE"
    LP_SERVER_5XX = "LP_SERVER_5XX"
    USAGE_MISSING = "USAGE_MISSING"
    USAGE_CUMULATIVE = "USAGE_CUMULATIVE"
    USAGE_COMPLETION_ZERO = "USAGE_COMPLETION_ZERO"
    USAGE_REASONING_EXCEEDS = "USAGE_REASONING_EXCEEDS"
    USAGE_TOTAL_MISMATCH = "USAGE_TOTAL_MISMATCH"
    MULTI_TOKEN_CHUNK = "MULTI_TOKEN_CHUNK"  # noqa: S105 - a quirk's name
    BUFFERED_TOKENS = "BUFFERED_TOKENS"
    MODEL_ALIAS_RESOLVED = "MODEL_ALIAS_RESOLVED"

    @property
    def disposition(self) -> Disposition:
        return QUIRK_DISPOSITIONS[self]


_ACCEPTED = frozenset(
    {
        Quirk.REASONING_FIELD_VARIANT,
        Quirk.LP_SENTINEL,
        Quirk.LP_TOPK_SHORT,
        Quirk.LP_MISSING_BYTES,
        Quirk.LP_PARTIAL_COVERAGE,
        Quirk.MULTI_TOKEN_CHUNK,
        Quirk.BUFFERED_TOKENS,
        Quirk.MODEL_ALIAS_RESOLVED,
    }
)

_NORMALISED = frozenset(
    {
        Quirk.SSE_NON_JSON_DATA,
        Quirk.SSE_EMPTY_DATA,
        Quirk.SSE_MISSING_DONE,
        Quirk.STREAM_UNREQUESTED,
        Quirk.ENVELOPE_ID_EMPTY,
        Quirk.ENVELOPE_OBJECT_WRONG,
        Quirk.FINISH_NONSTANDARD,
        Quirk.TC_INDEX_MISSING,
        Quirk.TC_INDEX_REUSED,
        Quirk.TC_INDEX_NONZERO_BASE,
        Quirk.TC_ID_MISSING,
        Quirk.TC_NAME_REPEATED,
        Quirk.TC_NAME_FRAGMENTED,
        Quirk.TC_META_REEMITTED,
        Quirk.TC_ARGS_WITH_FINISH,
        Quirk.TC_ARGS_NOT_STRING,
        Quirk.TC_ARGS_EMPTY,
        Quirk.CONTENT_LIST_PARTS,
        Quirk.LONE_SURROGATE,
        Quirk.LP_LEGACY_SHAPE,
        Quirk.LP_CHAT_SHAPE_ON_COMPLETIONS,
        Quirk.LP_VOCAB_MARKER,
        Quirk.USAGE_MISSING,
        Quirk.USAGE_CUMULATIVE,
    }
)

_ERRORS = frozenset(
    {
        Quirk.STREAM_TRUNCATED,
        Quirk.INBAND_ERROR,
        Quirk.HTTP_200_ERROR_BODY,
        Quirk.RATE_LIMITED,
        Quirk.EMPTY_CHOICES,
        Quirk.ENGINE_ABORT,
        Quirk.LP_SERVER_5XX,
    }
)


def _disposition_of(quirk: Quirk) -> Disposition:
    if quirk in _ACCEPTED:
        return Disposition.ACCEPT
    if quirk in _NORMALISED:
        return Disposition.NORMALISE
    return Disposition.ERROR if quirk in _ERRORS else Disposition.FLAG


QUIRK_DISPOSITIONS = {quirk: _disposition_of(quirk) for quirk in Quirk}
