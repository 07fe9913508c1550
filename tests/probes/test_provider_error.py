from __future__ import annotations

from typing import Any

import pytest

from probes.quirks import Quirk
from probes.wire.asked import Asked
from probes.wire.provider_error import ProviderError, error_in, error_instead_of_answer, quirks_of_rejected_call

PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
REQUEST = {"tools": [{"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}]}
TOOLS = Asked.of(REQUEST, chat=True).tools
REJECTED = Quirk.TC_PROVIDER_REJECTED


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"error": {"code": 502, "message": "m"}}, ProviderError(502, "m")),
        ({"error": {"code": None, "message": "m"}}, ProviderError(None, "m")),
        ({"error": {"message": "m", "type": "t"}}, ProviderError(None, "m")),
        ({"error": "overloaded"}, ProviderError(None, "overloaded")),
        ({"object": "error", "code": 1, "message": "m"}, ProviderError(1, "m")),
        ({"error": None, "choices": []}, None),
        ({"error": {}, "choices": []}, None),
        ({"error": "", "choices": []}, None),
        ({"base_resp": {"status_code": 0}}, None),
        ({"message": "m", "code": 1}, None),
    ],
)
def test_an_error_is_read_as_it_came(body: dict[str, Any], error: ProviderError | None) -> None:
    assert error_in(body) == error


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"message": "m", "code": 1}, ProviderError(1, "m")),
        ({"detail": "Not Found"}, ProviderError(None, "Not Found")),
        ({"message": "m", "code": 1, "choices": []}, None),
        ({"message": "m"}, None),
        ({"status": "ok"}, None),
    ],
)
def test_a_body_without_choices_may_be_an_error_itself(body: dict[str, Any], error: ProviderError | None) -> None:
    assert error_instead_of_answer(body) == error


@pytest.mark.parametrize(
    ("error", "quirks"),
    [
        (ProviderError("tool_use_failed", "Failed to call a function."), {REJECTED}),
        (ProviderError(None, "m", '{"name": "f", "arguments": {"n": "x"}}'), {REJECTED, Quirk.TC_SCHEMA_MISMATCH}),
        (ProviderError(None, "m", '{"name": "g", "arguments": {}}'), {REJECTED, Quirk.TC_UNKNOWN_TOOL}),
        (ProviderError(None, "m", '<function=f>{"n": '), {REJECTED, Quirk.TC_ARGS_INVALID_JSON}),
        (
            ProviderError(
                None, "Tool call validation failed: parameters for tool f did not match schema: n is missing"
            ),
            {REJECTED, Quirk.TC_SCHEMA_MISMATCH},
        ),
        (
            ProviderError(None, "The model generated a tool call whose arguments are not valid JSON"),
            {REJECTED, Quirk.TC_ARGS_INVALID_JSON},
        ),
        (
            ProviderError(None, "The model attempted to call tool 'g' which does not exist"),
            {REJECTED, Quirk.TC_UNKNOWN_TOOL},
        ),
        (ProviderError(None, "tools are not supported by this model"), set()),
        (ProviderError(None, "Invalid schema for function 'f': bad type"), set()),
        (ProviderError(None, "messages with role 'tool' must follow a message with 'tool_calls'"), set()),
        (ProviderError(None, "Invalid parameter: tool_choice"), set()),
        (ProviderError([1], None), set()),
    ],
)
def test_only_the_models_own_call_can_have_been_rejected(error: ProviderError, quirks: set[Quirk]) -> None:
    assert quirks_of_rejected_call(error, 400, TOOLS) == quirks


@pytest.mark.parametrize("status", [200, 429, 500])
def test_only_a_refusal_rejects_a_call(status: int) -> None:
    assert quirks_of_rejected_call(ProviderError("tool_use_failed", "m"), status, TOOLS) == set()
