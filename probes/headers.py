"""The response headers that are kept: what tells serving stacks apart or helps to find a request again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


def named(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The values by their lower-case names; those of one name joined by commas. In ASCII or UTF-8 if all of them are,
    in Latin-1, which everything is, if not."""
    pairs = [(name.lower(), value) for name, value in raw]
    try:
        return _joined(pairs, "utf-8")
    except UnicodeDecodeError:
        return _joined(pairs, "iso-8859-1")


def _joined(pairs: Iterable[tuple[bytes, bytes]], encoding: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode(encoding), raw_value.decode(encoding)
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def kept(headers: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    """The allowed ones among lower-case `headers`, without keys and cut to 256 characters."""
    return {
        name: redactor.text(value)[:_LONGEST]
        for name, value in headers.items()
        if name not in _ACCOUNT and (name in _KEPT or name.startswith(_KEPT_PREFIXES))
    }
