"""What is wrong with an answer, in words for whoever runs the endpoint."""

from __future__ import annotations

from collections.abc import Mapping

from probes.plan import Outcome
from probes.quirks import Quirk

OF_OUTCOMES: Mapping[Outcome, str] = {
    Outcome.WRONG: "an answer that is not the right one",
    Outcome.INVALID: "an answer that cannot be read as one of this API",
    Outcome.REFUSED: "the request was refused",
    Outcome.HTTP_ERROR: "no answer: the connection failed, or an error status came",
    Outcome.TIMEOUT: "no whole answer within the time allowed",
    Outcome.RATE_LIMITED: "turned away with status 429 at every try",
}

OF_FAULTS: Mapping[str, str] = {
    "not_called": "a call was due, and none came",
    "called": "a call where none was due",
    "call_as_text": "the call that was due stands in the text, where no client finds it",
    "call_in_reasoning": "the call that was due stands in the reasoning, where no client finds it",
    "call_broken": "a call that fails before its values are looked at",
    "call_missing": "fewer calls than were due",
    "call_extra": "more calls than were due",
    "values": "the right tool with other values than were asked for",
    "finish": "a finish_reason that does not fit the answer",
    "call_completed": "arguments that the token limit cut came whole, as no model wrote them",
    "content": "another text than was asked for",
    "content_not_json": "the answer was to be JSON, and is not",
    "content_schema": "the answer is JSON, and its schema refuses it",
    "reasoning_missing": "reasoning was asked for, and there is none",
    "reasoning_present": "reasoning was switched off, and is there",
    "reasoning_leaked": "reasoning stands in the text of the answer",
    "not_refused": "a request that makes no sense was answered",
    "refusal_unnamed": "refused, without a word of what is refused",
}

OF_QUIRKS: Mapping[Quirk, str] = {
    Quirk.SSE_FRAME_CORRUPT: "two events run into one line, with bytes lost between them",
    Quirk.STREAM_TRUNCATED: "the stream ends before any finish_reason",
    Quirk.INBAND_ERROR: "an error object inside the stream",
    Quirk.HTTP_200_ERROR_BODY: "status 200, and an error object as the body",
    Quirk.RATE_LIMITED: "status 429",
    Quirk.EMPTY_CHOICES: "no choice where an answer was due",
    Quirk.ENGINE_ABORT: "a finish_reason by which an engine says that it broke off",
    Quirk.FINISH_DUPLICATE: "a second finish_reason; the first counts",
    Quirk.FINISH_MASKS_LENGTH: "the answer was cut at the token limit, and finish_reason says otherwise",
    Quirk.FINISH_STOP_WITH_TOOL_CALLS: "tools were called, and finish_reason is stop",
    Quirk.FINISH_TOOLS_WITHOUT_CALLS: "finish_reason is tool_calls, and there is no call",
    Quirk.TC_ID_DUPLICATE: "two calls with one id",
    Quirk.TC_ARGS_DUPLICATED: "all of the arguments once more after their pieces",
    Quirk.TC_ARGS_INVALID_JSON: "arguments that are no JSON",
    Quirk.TC_ARGS_DOUBLE_ENCODED: "arguments encoded twice: a string that holds the object",
    Quirk.TC_ARGS_NESTED_STRINGIFIED: "a list or an object inside the arguments, given as text",
    Quirk.TC_ARGS_TYPE_STRINGIFIED: "all numbers and truth values given as text",
    Quirk.TC_ARGS_CONTROL_CHAR: "control characters within an argument",
    Quirk.TC_ARGS_PREFIX_JUNK: "text before the arguments' first brace",
    Quirk.TC_AS_TEXT: "a call written into the text of the answer, where no client finds it",
    Quirk.TC_UNKNOWN_TOOL: "a call of a tool that was not offered",
    Quirk.TC_SCHEMA_MISMATCH: "arguments that the tool's schema refuses",
    Quirk.TC_VALUE_MISMATCH: "arguments that fit the schema, and are not what was asked for",
    Quirk.TC_PARALLEL_NOT_HONOURED: "several calls, though parallel ones were ruled out",
    Quirk.TC_REPETITION_RUNAWAY: "the same JSON over and over until the token limit",
    Quirk.TC_PROVIDER_REJECTED: "the provider refuses the call that its own model made",
    Quirk.SPECIAL_TOKEN_LEAK: "control tokens of the model in the text",
    Quirk.REASONING_ONLY: "reasoning, and no answer after it",
    Quirk.REPLACEMENT_CHAR: "U+FFFD sent by the server: bytes of the answer were lost there",
    Quirk.LP_NULL: "log-probabilities were asked for, and none came",
    Quirk.LP_POSITIVE: "a log-probability above zero; the answer is not used",
    Quirk.LP_PROCESSED: "no log-probabilities but 0 and placeholders: the values after sampling parameters; not used",
    Quirk.LP_PROCESSED_SUSPECT: "fewer log-probabilities than asked, which sum to one",
    Quirk.LP_BYTES_REPLACEMENT: "bytes of U+FFFD, so that it cannot be said which token is meant",
    Quirk.LP_SAMPLED_NOT_IN_TOP: "the token that was taken is missing in its own list",
    Quirk.LP_REPEATED_POSITION: "one list of log-probabilities for several positions",
    Quirk.LP_INCONSISTENT_SAMPLED: (
        "the token that was taken and the same token in the list have two values, or it is not the likeliest "
        "at temperature 0"
    ),
    Quirk.LP_SERVER_5XX: "the server fails when asked for log-probabilities",
    Quirk.USAGE_COMPLETION_ZERO: "0 completion tokens for an answer",
    Quirk.USAGE_REASONING_EXCEEDS: "more reasoning tokens than completion tokens",
    Quirk.USAGE_TOTAL_MISMATCH: "total_tokens is not the sum of the other two",
}
