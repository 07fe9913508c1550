"""The one place that opens connections: an httpx client whose network refuses forbidden addresses.

A name is resolved once, every address it has is judged, and the socket is opened to a judged address, so there is no
moment in which a second look-up could answer differently. Redirects are not followed and proxies of the environment
are not used: either would let the far side choose where the key goes.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpcore
import httpx

from probes.address import AddressPolicy, Forbidden, forbidden_address, forbidden_origin, parse_address
from probes.clock import Clock
from probes.errors import AddressForbiddenError, ProbeError
from probes.failure import Failure, FailureKind

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

CONNECT_TIMEOUT_S = 10.0

# Both log URLs and headers at lower levels; a query or a header may hold a key.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class TransportError(ProbeError):
    """No answer came back, or it stopped coming. `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message, remedy=failure.remedy)
        self.failure = failure


async def resolve(host: str, port: int) -> Sequence[str]:
    """Every address of a host name, in the system's order of preference."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def check_url(url: str, policy: AddressPolicy) -> None:
    """Judge a URL's text alone: no name is looked up and no socket opened. Raises AddressForbiddenError."""
    _parse(url, policy)


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
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx.DecodingError as error:
            message = f"{self.host} answered with a body that its Content-Encoding does not decode."
            raise TransportError(Failure(FailureKind.PROTOCOL, message, _CHECK_BASE_URL)) from error


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
        backend = _GuardedNetwork(policy, resolver, network or httpcore.AnyIOBackend())
        pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or httpx.create_ssl_context(trust_env=False),
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
        target = _parse(url, self._policy)
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


class _GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Opens TCP connections to judged addresses only."""

    def __init__(self, policy: AddressPolicy, resolver: Resolver, network: httpcore.AsyncNetworkBackend) -> None:
        self._policy = policy
        self._resolve = resolver
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._judged(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"looking up {host}") from error
        # A black-holed first address must leave the others their share of the time.
        share = None if timeout is None else timeout / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(addresses[-1], port, share, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002 - the signature is httpcore's
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        raise AddressForbiddenError(f"{path!r} is a socket file; providers are asked over TCP.")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)

    async def _judged(self, host: str, port: int) -> list[str]:
        try:
            texts = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            message = f"The host name {host!r} does not resolve."
            remedy = "Check base_url for a typo, and this machine's DNS."
            raise TransportError(Failure(FailureKind.DNS, message, remedy)) from error
        if not texts:
            raise TransportError(Failure(FailureKind.DNS, f"The host name {host!r} has no address.", _CHECK_BASE_URL))
        for text in texts:
            address = parse_address(text)
            verdict = Forbidden(f"{text!r} is no IP address", "") if address is None else None
            if address is not None:
                verdict = forbidden_address(self._policy, address)
            if verdict is not None:
                raise _forbidden(f"{host}:{port}", verdict)
        return list(texts)


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
        with _translated(place, self._connect_timeout_s):
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
        with _translated(self._place, self._connect_timeout_s):
            async for part in self._response.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()


_CHECK_BASE_URL = "Check base_url: it should end where /chat/completions is appended, often in /v1."


def _parse(url: str, policy: AddressPolicy) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise AddressForbiddenError("base_url is not a valid URL.", remedy="Write it as https://HOST/PATH.") from error
    userinfo = parsed.userinfo.decode("ascii", "replace")
    # Judged as it will be looked up: after IDNA, in which full-width digits have become digits.
    host = parsed.raw_host.decode("ascii", "replace")
    verdict = forbidden_origin(policy, scheme=parsed.scheme, userinfo=userinfo, host=host, port=parsed.port)
    if verdict is not None:
        raise _forbidden(_place(parsed) or "base_url", verdict)
    return parsed


def _forbidden(place: str, verdict: Forbidden) -> AddressForbiddenError:
    return AddressForbiddenError(f"{place} may not be asked: {verdict.reason}.", remedy=verdict.remedy)


def _place(url: httpx.URL) -> str:
    """Host and port only: path, query and user name may hold secrets."""
    return url.netloc.decode("ascii", "replace")


@contextmanager
def _translated(place: str, connect_timeout_s: float) -> Iterator[None]:
    try:
        yield
    except httpcore.LocalProtocolError:
        # Its text quotes the header it could not write, which may be the one with the key.
        raise TransportError(_unwritable(place)) from None
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise TransportError(_failure(error, place, connect_timeout_s)) from error


def _unwritable(place: str) -> Failure:
    message = f"The request to {place} cannot be written as HTTP."
    remedy = "Check the provider's `headers` and `api_key` for line breaks and control characters."
    return Failure(FailureKind.PROTOCOL, message, remedy)


def _failure(error: Exception, place: str, connect_timeout_s: float) -> Failure:
    if isinstance(error, httpcore.TimeoutException):
        message = f"{place} did not accept a connection within {connect_timeout_s:g} s."
        return Failure(FailureKind.TIMEOUT, message, "Check that the server runs and that no firewall drops packets.")
    if isinstance(error, httpcore.ConnectError):
        return _connect_failure(error, place)
    text = str(error).lower()
    if isinstance(error, httpcore.NetworkError) or "disconnected" in text or "closed connection" in text:
        return Failure(
            FailureKind.RESET,
            f"{place} closed the connection before its answer was complete.",
            "If it happens again, the server or a proxy before it is failing; see its log.",
        )
    return Failure(FailureKind.PROTOCOL, f"{place} does not answer in HTTP.", "Check the port and http or https.")


def _connect_failure(error: Exception, place: str) -> Failure:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            message = f"The TLS certificate of {place} is not valid: {cause.verify_message}."
            return Failure(FailureKind.TLS, message, "Use the host name the certificate is for; checks cannot be off.")
        if isinstance(cause, ssl.SSLError):
            reason = (cause.reason or "handshake failed").replace("_", " ").lower()
            remedy = "If the port speaks plain http, write http:// (this needs `allow_private: true`)."
            return Failure(FailureKind.TLS, f"TLS with {place} failed: {reason}.", remedy)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        message = f"{place} refused the connection: nothing listens there."
        return Failure(FailureKind.REFUSED, message, "Start the server, or correct host and port in base_url.")
    reasons = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    message = f"{place} cannot be reached{': ' + reasons[-1] if reasons else ''}."
    return Failure(FailureKind.UNREACHABLE, message, "Check base_url and this machine's network.")


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__
