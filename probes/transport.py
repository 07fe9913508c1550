"""The one place that opens connections: httpx's pool over a network that refuses forbidden addresses.

Redirects are not followed and proxies of the environment are not used: either would let the far side choose where the
key goes.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from types import TracebackType
from typing import Self

import httpcore
import httpx

from probes.address import AddressPolicy, forbidden_origin
from probes.clock import Clock
from probes.errors import AddressForbiddenError
from probes.failure import CHECK_BASE_URL, Failure, FailureKind
from probes.guarded_network import GuardedNetwork, Resolver, resolve
from probes.headers import named
from probes.transport_failure import TransportError, translated

CONNECT_TIMEOUT_S = 10.0
_PORTS = {"https": 443, "http": 80}

# Both log URLs and headers at lower levels; a query or a header may hold a key.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


_Head = list[tuple[bytes, bytes]]
_HEADERS = {
    "Connection": "keep-alive",
    "User-Agent": f"python-httpx/{httpx.__version__}",
    "Accept": "application/json, text/event-stream",
    "Accept-Encoding": "identity",
}


@cache
def _public_trust() -> ssl.SSLContext:
    """The public authorities; reading them takes longer than a request does."""
    return httpx.create_ssl_context(trust_env=False)


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
    _body: _Body = field(repr=False)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, one item for each network read. Raises TransportError."""
        encoding = self.headers.get("content-encoding", "")
        if "," in encoding:
            # A kilobyte compressed twice can stand for a gigabyte; nobody lawful answers so, least of all unasked.
            message = f"{self.host} answered with a body that is encoded more than once."
            raise TransportError(Failure(FailureKind.PROTOCOL, message, CHECK_BASE_URL))
        try:
            async for chunk in _decoded(self._body, encoding) if encoding else self._body:
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
        self._connect_timeout_s = connect_timeout_s
        self._judged: dict[str, httpx.URL] = {}
        self._heads = _Heads()
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or _public_trust(),
            max_connections=max_connections,
            max_keepalive_connections=max_connections,
            keepalive_expiry=30.0,
            network_backend=GuardedNetwork(policy, resolver, network or httpcore.AnyIOBackend()),
        )

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, *, headers: Mapping[str, str], content: bytes | None = None
    ) -> AsyncIterator[Response]:
        """Send one request and hold its answer open. Raises TransportError and AddressForbiddenError.

        Time limits on the answer are the caller's, who can tell progress from mere bytes.
        """
        target = self._target(url)
        place = _place(target)
        leaving = _Content(content or b"", self._clock)
        request = httpcore.Request(
            method,
            httpcore.URL(scheme=target.raw_scheme, host=target.raw_host, port=target.port, target=target.raw_path),
            headers=self._heads.of(method, url, headers, content),
            content=leaving,
            extensions={"timeout": {"connect": self._connect_timeout_s}},
        )
        with translated(place, self._connect_timeout_s):
            response = await self._pool.handle_async_request(request)
        try:
            names = named(response.headers)
            if "set-cookie" in names:
                self._heads.keep_cookies(url, response)
            body = _Body(response, place, self._connect_timeout_s)
            yield Response(response.status, names, leaving.left_at, place, body)
        finally:
            await response.aclose()

    def _target(self, url: str) -> httpx.URL:
        """Of the few URLs that one transport asks again and again, each is judged once."""
        if url not in self._judged:
            self._judged[url] = _parse(url, self._policy)
        return self._judged[url]


class _Heads:
    """The heads of requests as httpx writes them, each made once, since one differs from the next by its length only.

    Cookies that were given are sent back, as any client does.
    """

    def __init__(self) -> None:
        self._cookies = httpx.Cookies()
        self._known: dict[object, _Head] = {}

    def of(self, method: str, url: str, headers: Mapping[str, str], content: bytes | None) -> _Head:
        if self._cookies:
            head = self._made(method, url, headers, with_content=content is not None)
        else:
            key = (method, url, content is None, *headers.items())
            head = self._known.get(key) or self._made(method, url, headers, with_content=content is not None)
            self._known[key] = head
        return head if content is None else [*head, (b"Content-Length", b"%d" % len(content))]

    def keep_cookies(self, url: str, response: httpcore.Response) -> None:
        asked = httpx.Request("GET", url)
        self._cookies.extract_cookies(httpx.Response(response.status, headers=response.headers, request=asked))

    def _made(self, method: str, url: str, headers: Mapping[str, str], *, with_content: bool) -> _Head:
        merged = httpx.Headers(_HEADERS)
        merged.update(headers)
        if with_content:
            merged.setdefault("Content-Type", "application/json")
        raw = httpx.Request(method, url, headers=merged, cookies=self._cookies).headers.raw
        return [(name, value) for name, value in raw if name.lower() != b"content-length"]


class _Content:
    """A request's body, which notes when it is asked for: the head has been written then, and the rest follows."""

    def __init__(self, content: bytes, clock: Clock) -> None:
        self._content = content
        self._clock = clock
        self.left_at = clock.monotonic()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.left_at = self._clock.monotonic()
        if self._content:
            yield self._content


class _Body:
    """The bytes of an answer as they come off the network, with the pool's exceptions as TransportErrors."""

    def __init__(self, response: httpcore.Response, place: str, connect_timeout_s: float) -> None:
        self._response = response
        self._place = place
        self._connect_timeout_s = connect_timeout_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with translated(self._place, self._connect_timeout_s):
            async for part in self._response.aiter_stream():
                yield part


def _decoded(body: AsyncIterable[bytes], encoding: str) -> AsyncIterator[bytes]:
    # As bytes: text would have to be ASCII, which a server need not send.
    headers = {b"Content-Encoding": encoding.encode()}
    return httpx.Response(200, headers=headers, content=body).aiter_bytes()


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
