"""The one endpoint, and the time, that a command was asked for."""

from __future__ import annotations

from monitor.config import EndpointConfig
from monitor.config.times import parse_duration
from monitor.errors import UsageError


def one_endpoint(endpoints: list[EndpointConfig], provider: str) -> EndpointConfig:
    if len(endpoints) == 1:
        return endpoints[0]
    slugs = ", ".join(dict.fromkeys(endpoint.model for endpoint in endpoints))
    raise UsageError(f"Provider {provider} serves several models: {slugs}.", remedy="Choose one with --model.")


def timeout_seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--timeout {text!r} is not a time.", remedy="Give a time such as 90s or 10m.") from error
