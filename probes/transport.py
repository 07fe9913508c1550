"""The one place that opens connections: an httpx client whose network refuses forbidden addresses.

Redirects are not followed and proxies of the environment are not used: either would let the far side choose where the
key goes.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from types import TracebackType
from typing import Any, Self

import httpcore
import httpx

from probes.address import AddressPolicy, forbidden_origin
from probes.clock import Clock
from probes.errors import AddressForbiddenError
from probes.failure import CHECK_BASE_URL, Failure, FailureKind
from probes.guarded_network import GuardedNetwork, Resolver, resolve
from probes.transport_failure import TransportError, translated

CONNECT_TIMEOUT_S = 10.0
_PORTS = {"https": 443, "http": 80}

# Both log URLs and headers at lower levels; a query or a header may hold a key.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


@cache
def _public_trust() -> ssl.SSLContext:
    """The public authorities; reading them takes longer than a request does."""
    return httpx.create_ssl_context(trust_env=False)


def check_url(url: str, policy: AddressPolicy) -> None:
    """Judge a URL's text alone: no name is looked up and no socket opened. Raises AddressForbiddenError."""
    _parse(url, policy)


async def connects(url: str, policy: AddressPolicy, timeout_s: float) -> bool:
    """Whether a connection to a URL's host can be opened; nothing is sent through it.

    Raises AddressForbiddenError for a URL that may not be asked.
    """
    target = _parse(url, policy)
    network = GuardedNetwork(policy, resolve, httpcore.AnyIOBackend())
    port = target.port or _PORTS[target.scheme]
    try:
        stream = await network.connect_tcp(target.raw_host.decode("ascii"), port, timeout=timeout_s)
    except (httpcore.ConnectError, httpcore.ConnectTimeout, TransportError):
        return False
    await stream.aclose()
    return True


@dataclass(frozen=True, slots=True)
class Response:
    """An answer whose body is still arriving. Header names are lower case; `sent_at` is when the request left, on the
    transport's monotonic clock (a connection that had to be opened first is not counted)."""

    status: int
    headers: Mapping[str, str]
    sent_at: float
    host: str
    _response: httpx.Response = field(repr=False)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, one item for each network read. Raises TransportError."""
        if "," in self.headers.get("content-encoding", ""):
            # A kilobyte compressed twice can stand for a gigabyte; nobody lawful answers so, least of all unasked.
            message = f"{self.host} answered with a body that is encoded more than once."
            raise TransportError(Failure(FailureKind.PROTOCOL, message, CHECK_BASE_URL))
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx.DecodingError as error:
            message = f"{self.host} answered with a body that its Content-Encoding does not decode."
            raise TransportError(Failure(FailureKind.PROTOCOL, message, CHECK_BASE_URL)) from error


class Transport:
    """Connections to one provider. Open and close it within one event loop."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        clock: Clock,
        max_connections: int,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
        resolver: Resolver = resolve,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._judged: dict[str, httpx.URL] = {}
        backend = GuardedNetwork(policy, resolver, network or httpcore.AnyIOBackend())
        pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or _public_trust(),
            max_connections=max_connections,
            max_keepalive_connections=max_connections,
            keepalive_expiry=30.0,
            network_backend=backend,
        )
        self._client = httpx.AsyncClient(
            transport=_PoolTransport(pool, connect_timeout_s),
            follow_redirects=False,
            trust_env=False,
            timeout=httpx.Timeout(None, connect=connect_timeout_s),
            headers={"Accept": "application/json, text/event-stream", "Accept-Encoding": "identity"},
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, *, headers: Mapping[str, str], content: bytes | None = None
    ) -> AsyncIterator[Response]:
        """Send one request and hold its answer open. Raises TransportError and AddressForbiddenError.

        Time limits on the answer are the caller's, who can tell progress from mere bytes.
        """
        target = self._target(url)
        sent_at = self._clock.monotonic()

        async def trace(event: str, _: Mapping[str, Any]) -> None:
            nonlocal sent_at
            if event.endswith("send_request_headers.started"):
                sent_at = self._clock.monotonic()

        sent = httpx.Headers(dict(headers))
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        request = self._client.build_request(method, target, headers=sent, content=content, extensions={"trace": trace})
        response = await self._client.send(request, stream=True)
        try:
            named = {name.lower(): value for name, value in response.headers.items()}
            yield Response(response.status_code, named, sent_at, _place(target), response)
        finally:
            await response.aclose()

    def _target(self, url: str) -> httpx.URL:
        """Of the few URLs that one transport asks again and again, each is judged once."""
        if url not in self._judged:
            self._judged[url] = _parse(url, self._policy)
        return self._judged[url]


class _PoolTransport(httpx.AsyncBaseTransport):
    """Hands httpx's requests to the guarded pool and turns the pool's exceptions into TransportErrors."""

    def __init__(self, pool: httpcore.AsyncConnectionPool, connect_timeout_s: float) -> None:
        self._pool = pool
        self._connect_timeout_s = connect_timeout_s

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        inner = httpcore.Request(
            request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        place = _place(request.url)
        with translated(place, self._connect_timeout_s):
            response = await self._pool.handle_async_request(inner)
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response, place, self._connect_timeout_s),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response, place: str, connect_timeout_s: float) -> None:
        self._response = response
        self._place = place
        self._connect_timeout_s = connect_timeout_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with translated(self._place, self._connect_timeout_s):
            async for part in self._response.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()


def _parse(url: str, policy: AddressPolicy) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise AddressForbiddenError("This is not a valid URL.", remedy="Write it as https://HOST/PATH.") from error
    userinfo = parsed.userinfo.decode("ascii", "replace")
    # Judged as it will be looked up: after IDNA, in which full-width digits have become digits.
    host = parsed.raw_host.decode("ascii", "replace")
    verdict = forbidden_origin(policy, scheme=parsed.scheme, userinfo=userinfo, host=host, port=parsed.port)
    if verdict is not None:
        raise verdict.error(_place(parsed) or "This URL")
    return parsed


def _place(url: httpx.URL) -> str:
    """Host and port only: path, query and user name may hold secrets."""
    return url.netloc.decode("ascii", "replace")
