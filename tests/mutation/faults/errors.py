"""Errors instead of an answer, in whatever place a provider puts them."""

from __future__ import annotations

from probes.plan import Outcome
from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.ladder import Rung
from probes.tools.scored import Exclusion, Fault
from tests.endpoints.answers import Json
from tests.endpoints.edits import chained, each, finish, only, refuses
from tests.endpoints.hostile import HTML, error
from tests.endpoints.wire import Wire
from tests.mutation.faults.mutation import always, streamed, whole
from tests.mutation.scenes import CALL, INVALID, LOGPROBS, TALK

_LOST = (Outcome.HTTP_ERROR, Exclusion.TRANSPORT, Layer.TRANSPORT)
_LIMITED = (Outcome.RATE_LIMITED, Exclusion.RATE_LIMITED, Layer.TRANSPORT)
_FAILED = error("The engine failed.", code="engine_error", kind="server_error")
_OVERLOADED = error("Too many requests.", code=429)


def _rejected(message: str, call: str = "") -> Wire:
    """The provider turns down the call that its own model made, and shows it."""
    body: Json = error(message, code="tool_use_failed")
    body["error"]["failed_generation"] = call
    return refuses(400, body)


# Hears a lawful temperature, whatever is asked.
_WARM = Wire(hears=lambda heard: {**heard, "temperature": 1})
_REJECTED = (Quirk.TC_PROVIDER_REJECTED, Fault.CALL_BROKEN, Fault.CALL_MISSING, Fault.CALL_EXTRA, Layer.MODEL)

MUTATIONS = (
    streamed("an error after three deltas", TALK, only(4, _FAILED), Quirk.INBAND_ERROR, Quirk.USAGE_MISSING, *_LOST),
    streamed("an error inside a call", CALL, only(4, _FAILED), Quirk.INBAND_ERROR, Quirk.USAGE_MISSING, *_LOST),
    streamed(
        "an error with empty choices",
        TALK,
        only(0, {**_FAILED, "id": "x", "choices": []}),
        Quirk.INBAND_ERROR,
        Quirk.EMPTY_CHOICES,
        Quirk.USAGE_MISSING,
        *_LOST,
    ),
    always("200 with an error", TALK, refuses(200, _FAILED), Quirk.HTTP_200_ERROR_BODY, *_LOST),
    always("200 with a 429 inside", TALK, refuses(200, _OVERLOADED), Quirk.HTTP_200_ERROR_BODY, *_LIMITED),
    always("429", TALK, refuses(429, _OVERLOADED), Quirk.RATE_LIMITED, *_LIMITED),
    always("500", TALK, refuses(500, _FAILED), *_LOST),
    always("503 in plain text", TALK, refuses(503, "overloaded", "text/plain"), *_LOST),
    always("500 to logprobs", LOGPROBS, refuses(500, _FAILED), Quirk.LP_SERVER_5XX, *_LOST),
    always(
        "400 for nothing",
        TALK,
        refuses(400, error("No.")),
        Outcome.HTTP_ERROR,
        Exclusion.REFUSED,
        Layer.STACK,
    ),
    always(
        "401",
        TALK,
        refuses(401, error("No.")),
        Outcome.HTTP_ERROR,
        Exclusion.TRANSPORT,
        Layer.TRANSPORT,
    ),
    always(
        "a web page",
        TALK,
        refuses(200, HTML, "text/html"),
        Outcome.INVALID,
        Exclusion.TRANSPORT,
        Layer.TRANSPORT,
    ),
    whole("choices empty", TALK, each(lambda body: body.update(choices=[])), Quirk.EMPTY_CHOICES, *_LOST),
    streamed(
        "choices empty in every chunk",
        TALK,
        each(lambda chunk: chunk.update(choices=[])),
        Quirk.EMPTY_CHOICES,
        Quirk.STREAM_TRUNCATED,
        *_LOST,
    ),
    whole("choices null", TALK, each(lambda body: body.update(choices=None)), Quirk.EMPTY_CHOICES, *_LOST),
    always("the engine aborts", TALK, finish("abort"), Quirk.FINISH_NONSTANDARD, Quirk.ENGINE_ABORT, *_LOST),
    always(
        "the engine aborts in a call",
        CALL,
        finish("network_error"),
        Quirk.FINISH_NONSTANDARD,
        Quirk.ENGINE_ABORT,
        *_LOST,
    ),
    always("a filter ends it", TALK, finish("content_filter"), Exclusion.CONTENT_FILTER),
    always(
        "its call refused: schema",
        CALL,
        _rejected("Failed to call a function.", '{"name": "book_berth", "arguments": {"berth": "seven"}}'),
        Quirk.TC_SCHEMA_MISMATCH,
        Rung.SCHEMA_MISMATCH,
        *_REJECTED,
    ),
    always(
        "its call refused: tool",
        CALL,
        _rejected("tool call validation failed: no such tool 'moor'"),
        Quirk.TC_UNKNOWN_TOOL,
        Rung.UNKNOWN_TOOL,
        *_REJECTED,
    ),
    always(
        "its call refused: JSON",
        CALL,
        _rejected("Failed to parse tool call arguments: not valid JSON"),
        Quirk.TC_ARGS_INVALID_JSON,
        Rung.INVALID_JSON,
        *_REJECTED,
    ),
    always(
        "a refusal that names nothing",
        INVALID,
        chained(_WARM, refuses(400, error("No."))),
        Fault.REFUSAL_UNNAMED,
        Layer.STACK,
    ),
)
