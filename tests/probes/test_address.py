"""Which addresses a provider may be reached at."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.address import PRIVATE_TOO, PUBLIC, forbidden_address, forbidden_origin, parse_address, policy_for

PUBLIC_ADDRESSES = ["1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001:82a::200e", "::ffff:8.8.8.8"]
PRIVATE_ADDRESSES = [
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "fd12:3456::1",
    "::ffff:127.0.0.1",
    "::ffff:10.1.2.3",
]
NEVER_ALLOWED = [
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%eth0",
    "::ffff:169.254.169.254",
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "::7f00:1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "2001:0:53aa:64c::1",
    "2001:db8::1",
    "3fff::1",
    "fec0::1",
    "5f00::1",
    "100::1",
    "224.0.0.1",
    "239.255.255.250",
    "ff02::1",
    "ff0e::1",
    "240.0.0.1",
    "255.255.255.255",
    "192.88.99.1",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
]


@pytest.mark.parametrize("text", PUBLIC_ADDRESSES)
def test_a_public_unicast_address_is_allowed_to_every_provider(text: str) -> None:
    assert forbidden_address(PUBLIC, ip_address(text)) is None
    assert forbidden_address(PRIVATE_TOO, ip_address(text)) is None


@pytest.mark.parametrize("text", PRIVATE_ADDRESSES)
def test_a_private_address_needs_allow_private(text: str) -> None:
    refusal = forbidden_address(PUBLIC, ip_address(text))

    assert refusal is not None
    assert "allow_private: true" in refusal.remedy
    assert forbidden_address(PRIVATE_TOO, ip_address(text)) is None


@pytest.mark.parametrize("text", NEVER_ALLOWED)
def test_other_addresses_are_forbidden_even_with_allow_private(text: str) -> None:
    assert forbidden_address(PUBLIC, ip_address(text)) is not None
    assert forbidden_address(PRIVATE_TOO, ip_address(text)) is not None


def test_the_reason_names_the_address_and_its_kind() -> None:
    reasons = {
        text: refusal.reason
        for text in ("::ffff:169.254.169.254", "fe80::1%eth0", "64:ff9b::7f00:1", "224.0.0.1", "0.0.0.0", "127.0.0.1")
        if (refusal := forbidden_address(PUBLIC, ip_address(text))) is not None
    }

    assert reasons == {
        "::ffff:169.254.169.254": "169.254.169.254 is a cloud metadata service",
        "fe80::1%eth0": "fe80::1 is a link-local address",
        "64:ff9b::7f00:1": "64:ff9b::7f00:1 is an IPv4 address wrapped by NAT64",
        "224.0.0.1": "224.0.0.1 is a multicast address",
        "0.0.0.0": "0.0.0.0 is the unspecified address",
        "127.0.0.1": "127.0.0.1 is a loopback address",
    }


def origin(url_host: str, *, scheme: str = "https", userinfo: str = "", port: int | None = None) -> object:
    return forbidden_origin(PUBLIC, scheme=scheme, userinfo=userinfo, host=url_host, port=port)


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.01",
        "1.2.3.4.",
        "10.0x1",
        "0",
        ".",
        "１.１",
        "exa mple.com",
    ],
)
def test_a_host_that_is_neither_a_name_nor_a_plain_address_is_forbidden(host: str) -> None:
    for policy in (PUBLIC, PRIVATE_TOO):
        assert forbidden_origin(policy, scheme="https", userinfo="", host=host, port=None) is not None


def test_names_are_left_to_the_look_up() -> None:
    assert [
        origin(host) for host in ("api.example.com", "localhost", "xn--bcher-kva.example", "a1.2b", "0xg.example")
    ] == [None] * 5


def test_userinfo_and_foreign_schemes_and_missing_hosts_are_forbidden() -> None:
    assert origin("api.example.com", userinfo="user:pass") is not None
    assert origin("api.example.com", scheme="ftp") is not None
    assert origin("") is not None


def test_plain_http_needs_allow_private() -> None:
    assert origin("api.example.com", scheme="http") is not None
    assert forbidden_origin(PRIVATE_TOO, scheme="http", userinfo="", host="models.internal", port=8001) is None


def test_a_port_that_does_not_exist_is_forbidden() -> None:
    assert [
        forbidden_origin(PRIVATE_TOO, scheme="http", userinfo="", host="a.b", port=port) is None for port in (0, 65536)
    ] == [
        False,
        False,
    ]


def test_a_public_provider_is_not_asked_on_ports_of_other_services() -> None:
    assert [origin("api.example.com", port=port) is None for port in (None, 443, 8443, 22, 25, 80, 6379)] == [
        True,
        True,
        True,
        False,
        False,
        False,
        True,
    ]
    assert forbidden_origin(PRIVATE_TOO, scheme="http", userinfo="", host="127.0.0.1", port=80) is None


def test_policy_for_reads_the_setting() -> None:
    assert policy_for(False) is PUBLIC
    assert policy_for(True) is PRIVATE_TOO


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_judged_alike_however_it_is_wrapped(number: int) -> None:
    plain = IPv4Address(number)
    mapped = IPv6Address(f"::ffff:{plain}")

    for policy in (PUBLIC, PRIVATE_TOO):
        assert forbidden_address(policy, plain) == forbidden_address(policy, mapped)


@given(st.integers(0, 2**128 - 1))
def test_what_a_public_provider_may_use_is_global_unicast(number: int) -> None:
    address = IPv6Address(number)
    if forbidden_address(PUBLIC, address) is None:
        judged = address.ipv4_mapped or address
        assert judged.is_global
        assert not judged.is_multicast
        assert forbidden_address(PRIVATE_TOO, address) is None


@given(st.integers(0, 2**32 - 1))
def test_an_address_in_no_standard_spelling_is_no_address(number: int) -> None:
    assert parse_address(str(IPv4Address(number))) == IPv4Address(number)
    assert parse_address(hex(number)) is None
    assert parse_address(str(number)) is None
