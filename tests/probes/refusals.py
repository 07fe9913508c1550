"""Refusals of real providers, as publicly reported, and what each teaches."""

from __future__ import annotations

import json
from typing import Any

from probes.capabilities import Capabilities

CHAT: dict[str, Any] = {
    "model": "acme/lark-30b",
    "messages": [{"role": "user", "content": "What is the temperature in Fowey, and the seed of this top_p?"}],
    "max_tokens": 1,
    "temperature": 0,
    "logprobs": True,
    "top_logprobs": 20,
    "seed": 7,
    "stream": True,
    "stream_options": {"include_usage": True},
}
NO_LOGPROBS = Capabilities().without_logprobs()
MAX_COMPLETION = Capabilities(token_limit_parameter="max_completion_tokens", refused_limits=frozenset({"max_tokens"}))


def without(*names: str) -> Capabilities:
    return Capabilities(unsupported=frozenset(names))


def openai(message: str, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def pydantic(*errors: dict[str, Any]) -> dict[str, Any]:
    return {"detail": [{"input": CHAT, "url": "https://errors.pydantic.dev/2.5/v/x", **error} for error in errors]}


TAUGHT: list[tuple[str, int, Any, Capabilities]] = [
    (
        "openai: another name for the token limit",
        400,
        openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        MAX_COMPLETION,
    ),
    (
        "a gateway that keeps the message only",
        400,
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                "code": "invalid_request_body",
            }
        },
        MAX_COMPLETION,
    ),
    (
        "openai: least number of tokens",
        400,
        openai(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.",
            param="max_output_tokens",
            code="integer_below_min_value",
        ),
        Capabilities(min_max_tokens=16),
    ),
    (
        "openrouter: the upstream's JSON in a string",
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": json.dumps(
                        openai(
                            "Invalid 'max_output_tokens': integer below minimum value. "
                            "Expected a value >= 16, but got 1 instead.",
                            param="max_output_tokens",
                        )
                    ),
                    "provider_name": "Azure",
                },
            },
            "user_id": "x",
        },
        Capabilities(min_max_tokens=16),
    ),
    (
        "openai: a reasoning model that ran out of tokens",
        400,
        openai(
            "Could not finish the message because max_tokens or model output limit was reached. "
            "Please try again with higher max_tokens."
        ),
        Capabilities(min_max_tokens=16),
    ),
    (
        "openai: only the default temperature",
        400,
        openai(
            "Unsupported value: 'temperature' does not support 0 with this model. "
            "Only the default (1) value is supported.",
            param="temperature",
            code="unsupported_value",
        ),
        without("temperature"),
    ),
    (
        "text-generation-inference: temperature above zero",
        422,
        {"error": "Input validation error: `temperature` must be strictly positive", "error_type": "validation"},
        without("temperature"),
    ),
    (
        "azure, older API versions",
        400,
        openai("Unrecognized request argument supplied: logprobs"),
        NO_LOGPROBS,
    ),
    (
        "azure: several arguments at once",
        400,
        openai("Unrecognized request arguments supplied: logprobs, top_logprobs"),
        NO_LOGPROBS,
    ),
    (
        "azure: stream options",
        400,
        openai(
            "Unrecognized request argument supplied: stream_options. Please contact us through an Azure support "
            "request for further questions.",
            param="",
        ),
        without("stream_options"),
    ),
    (
        "azure: at most five",
        400,
        openai("Invalid value for 'top_logprobs': must be less than or equal to 5.", param="top_logprobs"),
        Capabilities(max_top_logprobs=5),
    ),
    (
        "openai: 403 for logprobs of a reasoning model is no matter of the key",
        403,
        openai("You are not allowed to request logprobs from this model"),
        NO_LOGPROBS,
    ),
    ("groq", 400, openai("`logprobs` is not supported with this model"), NO_LOGPROBS),
    (
        "groq and cerebras: property",
        400,
        {
            "message": "property 'seed' is unsupported",
            "type": "invalid_request_error",
            "param": "validation_error",
            "code": "wrong_api_format",
        },
        without("seed"),
    ),
    (
        "gemini",
        400,
        {"error": {"code": 400, "message": "Logprobs is not enabled for models/lark", "status": "INVALID_ARGUMENT"}},
        NO_LOGPROBS,
    ),
    (
        "vllm on gaudi",
        400,
        {
            "error": {
                "message": "Gaudi doesn't support logprobs. Please remove 'logprobs'/'top_logprobs' from your request "
                "to receive a response.",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        },
        NO_LOGPROBS,
    ),
    (
        "vllm: pydantic's list in python notation",
        400,
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), "
            "'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        without("stream_options"),
    ),
    (
        "vllm: max_logprobs of the engine",
        400,
        {
            "object": "error",
            "message": "Requested sample logprobs of 20, which is greater than max allowed: 10",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        Capabilities(max_top_logprobs=10),
    ),
    (
        "fastapi: bounds in ctx",
        422,
        pydantic(
            {
                "type": "less_than_equal",
                "loc": ["body", "top_logprobs"],
                "msg": "Input should be less than or equal to 5",
                "ctx": {"le": 5},
            }
        ),
        Capabilities(max_top_logprobs=5),
    ),
    (
        "fastapi: bounds in ctx alone",
        422,
        pydantic({"type": "greater_than_equal", "loc": ["body", "max_tokens"], "msg": "Too small", "ctx": {"ge": 4}}),
        Capabilities(min_max_tokens=4),
    ),
    (
        "fastapi: several fields at once",
        422,
        pydantic(
            {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"},
            {"type": "extra_forbidden", "loc": ["body", "logprobs"], "msg": "Extra inputs are not permitted"},
        ),
        Capabilities(logprobs=False, unsupported=frozenset({"seed", "logprobs", "top_logprobs"})),
    ),
    (
        "mistral: JSON in the message",
        422,
        {
            "object": "error",
            "message": json.dumps(
                pydantic({"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"})
            ),
            "type": "internal_error_proxy",
            "param": None,
            "code": "1000",
        },
        without("seed"),
    ),
    (
        "mistral, newer: the list twice",
        422,
        {
            "object": "Error",
            "detail": [{"type": "extra_forbidden", "loc": ["body", "logprobs"], "msg": "Extra inputs", "input": True}],
            "message": [{"type": "extra_forbidden", "loc": ["body", "logprobs"], "msg": "Extra inputs", "input": True}],
            "code": 3001,
        },
        NO_LOGPROBS,
    ),
    (
        "fireworks",
        400,
        {"error": {"object": "error", "message": "Extra inputs are not permitted, field: 'stream_options'"}},
        without("stream_options"),
    ),
    (
        "together: the largest number first",
        400,
        openai("20 is greater than the maximum of 1 - 'top_logprobs'", param="top_logprobs"),
        Capabilities(max_top_logprobs=1),
    ),
    (
        "deepseek: a range",
        400,
        openai("Invalid top_logprobs value, the valid range of top_logprobs is [0, 8]"),
        Capabilities(max_top_logprobs=8),
    ),
    (
        "deepseek: no bound is named, so the next size known is tried",
        400,
        {"detail": "Invalid top_logprobs and logprobs value"},
        Capabilities(max_top_logprobs=8),
    ),
    (
        "deepseek: a reasoning model",
        400,
        openai("deepseek-reasoner does not support the parameter `logprobs`"),
        NO_LOGPROBS,
    ),
    (
        "xai",
        400,
        {"code": "Client specified an invalid argument", "error": "Argument not supported: seed"},
        without("seed"),
    ),
    (
        "a Java gateway's spelling",
        400,
        openai("Model lark does not support parameter topLogprobs.", param="topLogprobs"),
        without("top_logprobs"),
    ),
    ("a plain param", 400, openai("Bad request", param="seed"), without("seed")),
    ("a path as param", 400, openai("Not valid here", param="body.seed"), without("seed")),
    ("plain text", 400, "Unknown parameter: 'seed'", without("seed")),
    ("anthropic", 400, openai("temperature and seed cannot both be specified"), without("seed")),
    ("not implemented", 501, openai("`seed` is not implemented"), without("seed")),
]


NOT_TAUGHT: list[tuple[str, int, Any]] = [
    ("a server error", 500, openai("Unknown parameter: 'seed'")),
    ("an unknown key", 401, openai("Unknown parameter: 'seed'")),
    ("a rate limit", 429, openai("max_tokens per minute: at least 16")),
    ("nothing named", 400, openai("Bad request")),
    ("an unknown model", 400, openai("Invalid model: lark", param="model")),
    ("messages", 400, openai("Invalid 'messages[0].content': string too long.", param="messages[0].content")),
    (
        "a field of a message",
        422,
        pydantic({"type": "missing", "loc": ["body", "messages", 0, "name"], "msg": "Missing"}),
    ),
    (
        "the context length",
        400,
        openai("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in max_tokens."),
    ),
    ("what the probe cannot do without", 400, openai("Unknown parameter: 'stream'", param="stream")),
    ("a limit that is kept to", 400, openai("top_logprobs must be less than or equal to 20", param="top_logprobs")),
    ("an absurd least", 400, openai("max_tokens must be at least 100000", param="max_tokens")),
    ("a parameter that was not sent", 400, openai("Unknown parameter: 'top_p'", param="top_p")),
    ("no text", 400, ""),
    ("html", 400, "<html><body>Bad gateway</body></html>"),
    (
        "an echo of the prompt",
        400,
        {"error": "no", "input": "Unknown parameter: 'seed'", "messages": "seed unsupported"},
    ),
]
