"""The guarded transport: what it connects to, what it sends, and how it names a failure."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from probes.address import PRIVATE_TOO, PUBLIC, AddressPolicy
from probes.clock import SystemClock
from probes.errors import AddressForbiddenError
from probes.failure import FailureKind
from probes.headers import named
from probes.transport import Transport
from probes.transport_failure import TransportError
from tests.endpoints import hostile
from tests.endpoints.certificates import Authority
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.probes.forbidden_urls import FORBIDDEN_URLS
from tests.probes.recording_network import ChangingResolver, RecordingNetwork, system_resolver


def ask(
    url: str, policy: AddressPolicy, *, resolver: Any = system_resolver, network: Any = None, **settings: Any
) -> tuple[int, bytes]:
    """Status and body of one GET, over the real network where none is given."""

    async def run() -> tuple[int, bytes]:
        transport = Transport(
            policy, clock=SystemClock(), max_connections=2, resolver=resolver, network=network, **settings
        )
        async with transport, transport.exchange("GET", url, headers={"User-Agent": "test"}) as response:
            return response.status, b"".join([piece async for piece in response.chunks()])

    return asyncio.run(run())


@pytest.mark.parametrize("url", FORBIDDEN_URLS)
def test_no_socket_is_opened_for_a_forbidden_url(url: str) -> None:
    network = RecordingNetwork()

    with pytest.raises(AddressForbiddenError) as caught:
        ask(url, PUBLIC, network=network)

    assert network.connected == []
    assert "secret" not in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("url", ["https://169.254.169.254/v1", "http://100.100.100.200/", "http://[fd00:ec2::254]/"])
def test_metadata_services_stay_closed_to_private_providers(url: str) -> None:
    network = RecordingNetwork()

    with pytest.raises(AddressForbiddenError, match="metadata"):
        ask(url, PRIVATE_TOO, network=network)

    assert network.connected == []


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.215.14", "127.0.0.1"],
        ["::1", "93.184.215.14"],
        ["93.184.215.14", "64:ff9b::a00:1"],
        ["2606:4700:4700::1111", "::ffff:10.0.0.1"],
        ["fe80::1%2"],
        ["not an address"],
    ],
)
def test_a_name_with_one_forbidden_address_is_not_connected_to(addresses: list[str]) -> None:
    network = RecordingNetwork()

    with pytest.raises(AddressForbiddenError, match=r"^internal\.example:443 may not be asked"):
        ask("https://internal.example/v1", PUBLIC, resolver=ChangingResolver(addresses), network=network)

    assert network.connected == []


def test_the_judged_address_is_the_one_connected_to() -> None:
    network = RecordingNetwork()
    resolver = ChangingResolver(["93.184.215.14"], ["127.0.0.1"])

    with pytest.raises(TransportError):
        ask("https://rebinding.example/v1", PUBLIC, resolver=resolver, network=network)

    assert resolver.asked == ["rebinding.example"]
    assert network.connected == [("93.184.215.14", 443)]


def test_every_judged_address_is_tried_in_turn() -> None:
    network = RecordingNetwork()
    resolver = ChangingResolver(["2606:4700:4700::1111", "93.184.215.14"])

    with pytest.raises(TransportError):
        ask("https://two.example:8443/v1", PUBLIC, resolver=resolver, network=network)

    assert network.connected == [("2606:4700:4700::1111", 8443), ("93.184.215.14", 8443)]


def test_an_international_name_is_looked_up_in_its_ascii_form() -> None:
    resolver = ChangingResolver(["93.184.215.14"])

    with pytest.raises(TransportError):
        ask("https://bücher.example/v1", PUBLIC, resolver=resolver, network=RecordingNetwork())

    assert resolver.asked == ["xn--bcher-kva.example"]


def test_a_private_provider_is_asked_over_plain_http() -> None:
    with ScriptedServer(hostile.always(200, "hello", content_type="text/plain")) as server:
        assert ask(f"{server.base_url}/models", PRIVATE_TOO) == (200, b"hello")


def test_requests_look_ordinary_and_ask_for_no_compression() -> None:
    with ScriptedServer(hostile.always(200, "{}")) as server:
        ask(server.base_url, PRIVATE_TOO)

    headers = server.received[0].headers
    assert headers["accept-encoding"] == "identity"
    assert headers["user-agent"] == "test"
    assert set(headers) == {"host", "accept", "accept-encoding", "connection", "user-agent"}


def post(url: str, *bodies: bytes, headers: Mapping[str, str]) -> None:
    async def run() -> None:
        transport = Transport(PRIVATE_TOO, clock=SystemClock(), max_connections=1)
        async with transport:
            for body in bodies:
                async with transport.exchange("POST", url, headers=headers, content=body) as response:
                    assert [piece async for piece in response.chunks()] == [b"{}"]

    asyncio.run(run())


def test_heads_are_what_httpx_would_write_each_with_the_length_of_its_body() -> None:
    headers = {"User-Agent": "test", "Authorization": "Bearer key", "X-Team": "a"}
    accepted = {"Accept": "application/json, text/event-stream", "Accept-Encoding": "identity"}
    with ScriptedServer(hostile.always(200, "{}")) as server:
        post(server.base_url, b"{}", b'{"a": 1}', headers=headers)
        with httpx.Client(headers=accepted) as client:
            for body in (b"{}", b'{"a": 1}'):
                client.post(server.base_url, headers={**headers, "Content-Type": "application/json"}, content=body)

    mine, theirs = server.received[:2], server.received[2:]
    assert [list(one.headers.items()) for one in mine] == [list(one.headers.items()) for one in theirs]
    assert [one.body for one in mine] == [one.body for one in theirs]


def test_a_cookie_is_sent_back_for_as_long_as_the_transport_lives() -> None:
    given = hostile.always(200, "{}", headers={"Set-Cookie": "route=a; Path=/"})
    with ScriptedServer(given) as server:
        post(server.base_url, b"{}", b"{}", headers={})
        post(server.base_url, b"{}", headers={})

    assert [one.headers.get("cookie") for one in server.received] == [None, "route=a", None]


@pytest.mark.parametrize(("raw", "text"), [("gr\u00fcn".encode(), "gr\u00fcn"), (b"gr\xfcn", "gr\u00fcn")])
def test_a_header_is_read_in_the_encoding_that_it_can_be_in(raw: bytes, text: str) -> None:
    assert named([(b"X-A", raw), (b"x-a", b"2"), (b"Date", b"today")]) == {"x-a": f"{text}, 2", "date": "today"}


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with ScriptedServer(hostile.always(200, "secret")) as inner:
        with ScriptedServer(hostile.redirect(inner.base_url)) as outer:
            status, _ = ask(outer.base_url, PRIVATE_TOO)

        assert status == 307
        assert inner.received == []


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        ScriptedServer(hostile.always(200, "proxied")) as proxy,
        ScriptedServer(hostile.always(200, "direct")) as server,
    ):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))

        assert ask(server.base_url, PRIVATE_TOO) == (200, b"direct")
        assert proxy.received == []


def failure_of(url: str, **settings: Any) -> tuple[FailureKind, str]:
    with pytest.raises(TransportError) as caught:
        ask(url, PRIVATE_TOO, **settings)
    assert caught.value.remedy
    return caught.value.failure.kind, caught.value.message


def test_a_refused_connection_is_named() -> None:
    url = hostile.closed_port_url()
    place = url.removeprefix("http://").removesuffix("/v1")

    assert failure_of(url) == (FailureKind.REFUSED, f"{place} refused the connection: nothing listens there.")


def test_a_name_that_does_not_resolve_is_named() -> None:
    async def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    kind, message = failure_of("https://no-such-host.invalid/v1", resolver=unknown)

    assert (kind, message) == (FailureKind.DNS, "The host name 'no-such-host.invalid' does not resolve.")


def test_a_name_without_addresses_is_named() -> None:
    kind, message = failure_of("https://empty.example/v1", resolver=ChangingResolver([]))

    assert (kind, message) == (FailureKind.DNS, "The host name 'empty.example' has no address.")


def test_a_look_up_that_hangs_is_cut_off() -> None:
    async def hanging(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    kind, message = failure_of("https://slow.example/v1", resolver=hanging, connect_timeout_s=0.05)

    assert (kind, message) == (FailureKind.TIMEOUT, "slow.example did not accept a connection within 0.05 s.")


def test_a_reset_in_the_body_is_named() -> None:
    with ScriptedServer(hostile.reset_mid_body) as server:
        kind, message = failure_of(server.base_url)

    assert kind is FailureKind.RESET
    assert message == f"127.0.0.1:{server.port} closed the connection before its answer was complete."


def test_a_connection_closed_without_an_answer_is_a_reset() -> None:
    async def hang_up(_: Received, connection: Connection) -> None:
        connection.close()

    with ScriptedServer(hang_up) as server:
        assert failure_of(server.base_url)[0] is FailureKind.RESET


def test_a_server_that_speaks_no_http_is_named() -> None:
    with ScriptedServer(hostile.not_http) as server:
        kind, message = failure_of(server.base_url)

    assert (kind, message) == (FailureKind.PROTOCOL, f"127.0.0.1:{server.port} does not answer in HTTP.")


def test_tls_to_a_plain_port_is_named() -> None:
    with ScriptedServer(hostile.always(200, "{}")) as server:
        kind, message = failure_of(server.base_url.replace("http://", "https://"))

    assert kind is FailureKind.TLS
    assert message.startswith(f"TLS with 127.0.0.1:{server.port} failed: ")


def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with ScriptedServer(hostile.always(200, "{}"), tls=authority.server_context("127.0.0.1")) as server:
        kind, message = failure_of(server.base_url)

    assert kind is FailureKind.TLS
    assert message.startswith(f"The TLS certificate of 127.0.0.1:{server.port} is not valid: ")
    assert server.received == []


def test_the_certificate_is_checked_against_the_name_and_not_the_address(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    trusting = authority.client_context()
    at_home = ChangingResolver(["127.0.0.1"])
    with ScriptedServer(hostile.always(200, "{}"), tls=authority.server_context("models.example")) as server:
        right = ask(f"https://models.example:{server.port}/v1", PRIVATE_TOO, resolver=at_home, tls=trusting)
        kind, message = failure_of(f"https://other.example:{server.port}/v1", resolver=at_home, tls=trusting)

    assert right == (200, b"{}")
    assert kind is FailureKind.TLS
    assert "other.example" in message


def test_a_body_that_is_not_what_its_encoding_says_is_a_protocol_failure() -> None:
    broken = hostile.always(200, b"not gzip at all", headers={"Content-Encoding": "gzip"})
    with ScriptedServer(broken) as server:
        assert failure_of(server.base_url)[0] is FailureKind.PROTOCOL


def test_an_encoding_that_is_no_ascii_is_as_any_other_that_nobody_knows() -> None:
    async def odd(_: Received, connection: Connection) -> None:
        await connection.raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzïp\r\nContent-Length: 2\r\n\r\n{}".encode())

    with ScriptedServer(odd) as server:
        assert ask(server.base_url, PRIVATE_TOO) == (200, b"{}")


def test_a_body_that_is_encoded_twice_is_not_unpacked() -> None:
    packed = gzip.compress(gzip.compress(b"{}"))
    with ScriptedServer(hostile.always(200, packed, headers={"Content-Encoding": "gzip, gzip"})) as server:
        kind, message = failure_of(server.base_url)

    assert (kind, message.endswith("encoded more than once.")) == (FailureKind.PROTOCOL, True)


def test_a_header_that_cannot_be_sent_is_not_quoted() -> None:
    async def run(url: str) -> None:
        transport = Transport(PRIVATE_TOO, clock=SystemClock(), max_connections=1)
        async with transport, transport.exchange("GET", url, headers={"X-Key": "canary\nvalue"}):
            pass

    with ScriptedServer(hostile.always(200, "{}")) as server, pytest.raises(TransportError) as caught:
        asyncio.run(run(server.base_url))

    assert caught.value.failure.kind is FailureKind.PROTOCOL
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_the_request_counts_as_sent_when_it_is_written_and_not_when_it_was_wanted() -> None:
    class Ticking(SystemClock):
        def __init__(self) -> None:
            self.ticks = 0

        def monotonic(self) -> float:
            self.ticks += 1
            return float(self.ticks)

    async def run(url: str) -> float:
        transport = Transport(PRIVATE_TOO, clock=Ticking(), max_connections=1)
        async with transport, transport.exchange("GET", url, headers={}) as response:
            return response.sent_at

    with ScriptedServer(hostile.always(200, "{}")) as server:
        # The first reading is taken before a connection is opened, the second as the request leaves.
        assert asyncio.run(run(server.base_url)) == 2.0


def test_connections_are_used_again() -> None:
    async def run(url: str) -> None:
        transport = Transport(PRIVATE_TOO, clock=SystemClock(), max_connections=2)
        async with transport:
            for _ in range(3):
                async with transport.exchange("GET", url, headers={}) as response:
                    assert [piece async for piece in response.chunks()] == [b"{}"]

    with ScriptedServer(hostile.always(200, "{}")) as server:
        asyncio.run(run(server.base_url))

    assert (len(server.received), server.connections) == (3, 1)
