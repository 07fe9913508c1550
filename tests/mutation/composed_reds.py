"""What each fault of `composed_faults` turns red: checks by their names, and quirks that answers show."""

from __future__ import annotations

from probes.quirks import Quirk

AVAILABLE = "tool_calls.availability"
CONFORMS = "tool_calls.conformance"
TRIGGER = "tool_calls.trigger"
ARGUMENTS = "tool_calls.arguments"
PARAMETERS = "protocol.parameters"
STACK = "protocol.stack"
TOKENS = "protocol.tokens"
COUNTED = "fidelity.tokens"
LOGPROBS = "logprobs"
ACCOUNTING = "accounting"
EVALS = "evals"

# Of a fault that few answers can show (one case in forty) a run tells by its quirk alone.
REDS: dict[str, set[str]] = {
    "[DONE] missing": {CONFORMS, STACK, Quirk.SSE_MISSING_DONE},
    "a ping as data": {CONFORMS, Quirk.SSE_NON_JSON_DATA},
    "a comment as data": {CONFORMS, Quirk.SSE_NON_JSON_DATA},
    "a number as data": {CONFORMS, Quirk.SSE_NON_JSON_DATA},
    "empty data": {CONFORMS, STACK, Quirk.SSE_EMPTY_DATA},
    "two frames glued": {CONFORMS, ARGUMENTS, Quirk.SSE_FRAME_CORRUPT, Quirk.TC_SCHEMA_MISMATCH},
    "a delta lost": {ARGUMENTS},
    "a delta doubled": {ARGUMENTS},
    "a stream that was not asked for": {CONFORMS, Quirk.STREAM_UNREQUESTED},
    "id empty": {CONFORMS, STACK, Quirk.ENVELOPE_ID_EMPTY},
    "id missing": {CONFORMS, STACK, Quirk.ENVELOPE_ID_EMPTY},
    "ids of another form": {STACK},
    "object of completions": {CONFORMS, STACK, Quirk.ENVELOPE_OBJECT_WRONG},
    "object of a whole answer in streams": {CONFORMS, STACK, Quirk.ENVELOPE_OBJECT_WRONG},
    "model alias changed": {STACK, Quirk.MODEL_ALIAS_RESOLVED},
    "another fingerprint": {STACK},
    "another server": {STACK},
    "JSON without spaces": {STACK},
    "finish_reason eos": {
        CONFORMS,
        STACK,
        Quirk.FINISH_NONSTANDARD,
        Quirk.FINISH_STOP_WITH_TOOL_CALLS,
        Quirk.FINISH_MASKS_LENGTH,
    },
    "finish_reason unknown": {CONFORMS, STACK, Quirk.FINISH_NONSTANDARD, Quirk.FINISH_MASKS_LENGTH},
    "finish_reason null": {AVAILABLE},
    "finish_reason twice": {CONFORMS, Quirk.FINISH_DUPLICATE},
    "stop with calls": {CONFORMS, STACK, Quirk.FINISH_STOP_WITH_TOOL_CALLS},
    "tool_calls without calls": {CONFORMS, STACK, Quirk.FINISH_TOOLS_WITHOUT_CALLS, Quirk.FINISH_MASKS_LENGTH},
    "length masked": {Quirk.FINISH_MASKS_LENGTH},
    "usage never": {STACK, Quirk.USAGE_MISSING},
    "usage null": {STACK, Quirk.USAGE_MISSING},
    "usage running": {STACK, Quirk.USAGE_CUMULATIVE},
    "no completion tokens": {CONFORMS, Quirk.USAGE_COMPLETION_ZERO},
    "a wrong total": {CONFORMS, Quirk.USAGE_TOTAL_MISMATCH},
    "completion tokens beyond what came": {COUNTED, Quirk.MULTI_TOKEN_CHUNK},
    "prompt_tokens + 1": {TOKENS, COUNTED, ACCOUNTING},
    "a hidden system prompt": {TOKENS, COUNTED, LOGPROBS, ACCOUNTING},
    "several tokens a chunk": {Quirk.MULTI_TOKEN_CHUNK},
    "another response header": set(),
    "index missing": {CONFORMS, STACK, Quirk.TC_INDEX_MISSING},
    "index from 1": {CONFORMS, STACK, Quirk.TC_INDEX_NONZERO_BASE},
    "index as text": {CONFORMS, STACK, Quirk.TC_INDEX_MISSING},
    "one index for all": {Quirk.TC_INDEX_REUSED},
    "name in each delta": {CONFORMS, STACK, Quirk.TC_NAME_REPEATED},
    "name in pieces": {CONFORMS, STACK, Quirk.TC_NAME_FRAGMENTED},
    "id, type and name in each delta": {CONFORMS, STACK, Quirk.TC_META_REEMITTED},
    "arguments beside the finish_reason": {CONFORMS, STACK, Quirk.TC_ARGS_WITH_FINISH},
    "arguments once more at the end": {CONFORMS, ARGUMENTS, Quirk.TC_ARGS_DUPLICATED},
    "call id missing": {CONFORMS, STACK, Quirk.TC_ID_MISSING},
    "call ids empty": {CONFORMS, STACK, Quirk.TC_ID_MISSING},
    "one id for all calls": {CONFORMS, STACK, Quirk.TC_ID_DUPLICATE},
    "call ids of another form": {STACK},
    "a name that is not declared": {ARGUMENTS, Quirk.TC_UNKNOWN_TOOL},
    "a name with its module": {ARGUMENTS, Quirk.TC_UNKNOWN_TOOL},
    "a control token in the name": {CONFORMS, ARGUMENTS, Quirk.SPECIAL_TOKEN_LEAK, Quirk.TC_UNKNOWN_TOOL},
    "the second call lost": {ARGUMENTS},
    "a call twice": {ARGUMENTS, Quirk.TC_PARALLEL_NOT_HONOURED},
    "no call where one is due": {TRIGGER, PARAMETERS},
    "calls as text": {CONFORMS, TRIGGER, PARAMETERS, Quirk.TC_AS_TEXT},
    "calls as text and tool_calls": {CONFORMS, TRIGGER, PARAMETERS, Quirk.FINISH_TOOLS_WITHOUT_CALLS, Quirk.TC_AS_TEXT},
    "calls in the reasoning": {CONFORMS, TRIGGER, PARAMETERS, Quirk.SPECIAL_TOKEN_LEAK},
    "content as well as calls": {CONFORMS, Quirk.SPECIAL_TOKEN_LEAK},
    "arguments: an object": {CONFORMS, ARGUMENTS, STACK, Quirk.TC_ARGS_NOT_STRING},
    "arguments: encoded twice": {ARGUMENTS, Quirk.TC_SCHEMA_MISMATCH, Quirk.TC_ARGS_DOUBLE_ENCODED},
    "arguments: said twice": {CONFORMS, ARGUMENTS, Quirk.TC_ARGS_DUPLICATED},
    "arguments: empty for none": {Quirk.TC_ARGS_EMPTY},
    "arguments: null for none": {Quirk.TC_ARGS_EMPTY},
    "arguments: a list": {ARGUMENTS, Quirk.TC_SCHEMA_MISMATCH},
    "arguments: text before them": {CONFORMS, ARGUMENTS, Quirk.TC_ARGS_PREFIX_JUNK},
    "arguments: the end lost": {ARGUMENTS},
    "arguments: Python's notation": {ARGUMENTS},
    "arguments: all values as text": {CONFORMS, ARGUMENTS, Quirk.TC_ARGS_TYPE_STRINGIFIED, Quirk.TC_SCHEMA_MISMATCH},
    "arguments: a required value missing": {ARGUMENTS, Quirk.TC_SCHEMA_MISMATCH},
    "arguments: a value too many": {ARGUMENTS, Quirk.TC_SCHEMA_MISMATCH},
    "arguments: another value": {ARGUMENTS, Quirk.TC_SCHEMA_MISMATCH},
    "arguments: a control token in a value": {CONFORMS, ARGUMENTS, Quirk.SPECIAL_TOKEN_LEAK, Quirk.TC_SCHEMA_MISMATCH},
    "arguments: U+FFFD in a value": {CONFORMS, ARGUMENTS, Quirk.REPLACEMENT_CHAR, Quirk.TC_SCHEMA_MISMATCH},
    "arguments: line ends unescaped": {ARGUMENTS},
    "arguments: 1 KB at most": set(),
}
