"""Asks a provider's endpoints one tiny question each: do they answer, is the key good, is the model there?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monitor.config import EndpointConfig
from probes.errors import ProbeError, ProviderProtocolError, ProviderRejectedError
from probes.plan import Item, Plan, ProbeKind

if TYPE_CHECKING:
    from probes.client import Client

_REQUEST: Mapping[str, Any] = {
    "messages": [{"role": "user", "content": "Hi"}],
    "max_tokens": 1,
    "temperature": 0,
    "logprobs": True,
    "top_logprobs": 1,
}
_PLAN = Plan(ProbeKind.PROTOCOL, (Item("provider-check", 0, _REQUEST),), suite_sha256="", suite_version="")


@dataclass(frozen=True, slots=True)
class EndpointCheck:
    """What one endpoint did. `listed` is None where the provider has no list of models; `error` is None if it answered.

    `seconds` is the time of the answered request, from sending it to its last byte.
    """

    endpoint: EndpointConfig
    error: ProbeError | None = None
    listed: bool | None = None
    seconds: float | None = None
    logprobs: bool | None = None


async def check_endpoints(endpoints: Sequence[EndpointConfig]) -> list[EndpointCheck]:
    """Check one after the other, so that none is slowed by another. Raises SecretError for a key that is not there."""
    return [await _check(endpoint) for endpoint in endpoints]


async def _check(endpoint: EndpointConfig) -> EndpointCheck:
    # Here: an API that is never asked to check anything has no need of it.
    from probes.client import Client

    listed: bool | None = None
    try:
        async with Client(endpoint.target()) as client:
            listed = await _listed(client, endpoint.name)
            (sample,) = await client.send(_PLAN)
            return EndpointCheck(
                endpoint,
                listed=listed,
                seconds=sample.attempts[-1].seconds,
                logprobs=client.capabilities.logprobs,
            )
    except ProbeError as error:
        return EndpointCheck(endpoint, error, listed)


async def _listed(client: Client, name: str) -> bool | None:
    try:
        return name in await client.models()
    except (ProviderProtocolError, ProviderRejectedError):
        # Not every provider has the list; the question itself tells what matters.
        return None
