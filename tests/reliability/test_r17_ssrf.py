"""R17: no socket is opened to where no webhook may be sent, over a network that only takes notes."""

from __future__ import annotations

from typing import Any

import httpcore
import pytest
from pydantic import SecretStr

from monitor.deliveries.attempt import Tried
from monitor.deliveries.destination import Destination
from monitor.deliveries.formats import JSON, Body
from monitor.deliveries.sender import CONNECT_TIMEOUT_S, send
from probes.address import AddressPolicy
from probes.clock import SystemClock
from probes.transport import Transport
from tests.endpoints import hostile
from tests.endpoints.server import ScriptedServer
from tests.monitor.deliveries.material import AT, SECRET
from tests.probes.forbidden_urls import FORBIDDEN_URLS
from tests.probes.recording_network import ChangingResolver, RecordingNetwork, system_resolver

pytestmark = pytest.mark.reliability

# What stays closed to a channel that may reach private addresses.
NEVER = [
    "http://169.254.169.254/latest/meta-data",
    "http://0xa9fea9fe/latest/meta-data",
    "http://[::ffff:169.254.169.254]/latest/meta-data",
    "http://[::ffff:a9fe:a9fe]/latest/meta-data",
    "http://[64:ff9b::a9fe:a9fe]/latest/meta-data",
    "http://[2002:a9fe:a9fe::]/latest/meta-data",
    "http://100.100.100.200/latest/meta-data",
    "http://192.0.0.192/opc/v2",
    "http://168.63.129.16/machine",
    "http://[fd00:ec2::254]/latest/meta-data",
    "http://[fd20:ce::254]/computeMetadata/v1",
    "http://[fe80::1]/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://224.0.0.1/",
    "http://[ff02::1]/",
    "http://255.255.255.255/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://user:secret@127.0.0.1/",
    "ftp://127.0.0.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
]


def deliver(
    url: str, network: httpcore.AsyncNetworkBackend | None, *, private: bool = False, resolver: Any = system_resolver
) -> Tried:
    def opened(policy: AddressPolicy) -> Transport:
        return Transport(
            policy,
            clock=SystemClock(),
            max_connections=1,
            connect_timeout_s=CONNECT_TIMEOUT_S,
            resolver=resolver,
            network=network,
        )

    destination = Destination("ops", "webhook", SecretStr(url), (SecretStr(SECRET),), allow_private=private)
    return send(destination, "msg_1", Body(b"{}", JSON), AT, transport=opened)


def test_the_table_is_long_enough() -> None:
    assert len({*FORBIDDEN_URLS, *NEVER}) >= 60


@pytest.mark.parametrize("url", FORBIDDEN_URLS)
def test_no_socket_is_opened_for_a_forbidden_address(url: str) -> None:
    network = RecordingNetwork()

    tried = deliver(url, network)

    assert network.connected == []
    assert tried.http_status is None
    assert tried.error
    assert "secret" not in tried.error


@pytest.mark.parametrize("url", NEVER)
def test_allow_private_opens_no_metadata_service_and_no_odd_spelling(url: str) -> None:
    network = RecordingNetwork()

    tried = deliver(url, network, private=True)

    assert (network.connected, tried.http_status) == ([], None)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["::ffff:127.0.0.1"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["fe80::1%eth0"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["93.184.215.14", "127.0.0.1"],
        ["127.0.0.1", "93.184.215.14"],
        ["224.0.0.1"],
        ["0.0.0.0"],
        [],
    ],
)
def test_a_name_that_leads_inside_is_not_followed(addresses: list[str]) -> None:
    network = RecordingNetwork()

    tried = deliver("https://hooks.example/in", network, resolver=ChangingResolver(addresses))

    assert (network.connected, tried.http_status) == ([], None)


def test_a_name_that_changes_after_it_was_judged_is_not_looked_up_again() -> None:
    network, resolver = RecordingNetwork(), ChangingResolver(["93.184.215.14"], ["127.0.0.1"])

    deliver("https://rebinding.example/in", network, resolver=resolver)

    assert resolver.asked == ["rebinding.example"]
    assert network.connected == [("93.184.215.14", 443)]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_inside_is_not_followed(status: int) -> None:
    with ScriptedServer(hostile.always(200, "secret")) as inner:
        with ScriptedServer(hostile.redirect(inner.base_url, status)) as outer:
            tried = deliver(outer.base_url, None, private=True)

        assert tried.http_status == status
        assert inner.received == []


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(hostile.always(200, "")) as proxy, ScriptedServer(hostile.always(204, "")) as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))

        assert deliver(receiver.base_url, None, private=True).http_status == 204
        assert proxy.received == []
