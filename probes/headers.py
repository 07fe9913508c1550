"""The response headers that are kept: what tells serving stacks apart or helps to find a request again."""

from __future__ import annotations

from collections.abc import Mapping

from probes.redaction import Redactor

_KEPT = frozenset(
    {
        "age",
        "apim-request-id",
        "azureml-model-session",
        "cf-cache-status",
        "cf-ray",
        "content-length",
        "content-type",
        "date",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "server",
        "transfer-encoding",
        "via",
        "x-cache",
        "x-groq-region",
        "x-inference-provider",
        "x-ms-region",
        "x-openrouter-provider",
        "x-powered-by",
        "x-provider",
        "x-request-id",
        "x-served-by",
    }
)
_KEPT_PREFIXES = ("openai-", "ratelimit-", "x-ratelimit-", "x-fireworks-", "x-together-", "x-vllm-")
# They name the account that asks, which is nobody else's business.
_ACCOUNT = frozenset({"openai-organization", "openai-project"})
_LONGEST = 256


def kept(headers: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    """The allowed ones among lower-case `headers`, without keys and cut to 256 characters."""
    return {
        name: redactor.text(value)[:_LONGEST]
        for name, value in headers.items()
        if name not in _ACCOUNT and (name in _KEPT or name.startswith(_KEPT_PREFIXES))
    }
