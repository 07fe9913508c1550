"""One body sent once."""

from __future__ import annotations

import asyncio

import pytest

from probes.address import PRIVATE_TOO
from probes.clock import SystemClock
from probes.failure import FailureKind
from probes.post import MAX_ANSWER_BYTES, Answer, post_once
from probes.transport import Transport
from probes.transport_failure import TransportError
from tests.endpoints import hostile
from tests.endpoints.server import ScriptedServer


def post(url: str, *, content: bytes = b"{}", timeout_s: float = 60.0) -> Answer:
    transport = Transport(PRIVATE_TOO, clock=SystemClock(), max_connections=1)
    headers = {"webhook-id": "msg_1", "Content-Type": "text/plain"}
    return asyncio.run(post_once(transport, url, headers=headers, content=content, timeout_s=timeout_s))


def test_the_body_is_sent_as_it_is() -> None:
    with ScriptedServer(hostile.always(202, "taken", headers={"Retry-After": "5"})) as server:
        answer = post(server.base_url, content=b'{"a":"\xc3\xbc"}')

    assert (answer.status, answer.body, answer.headers["retry-after"]) == (202, b"taken", "5")
    (received,) = server.received
    assert (received.method, received.body) == ("POST", b'{"a":"\xc3\xbc"}')
    assert (received.headers["webhook-id"], received.headers["content-type"]) == ("msg_1", "text/plain")


def test_a_redirect_is_an_answer() -> None:
    with ScriptedServer(hostile.always(200, "secret")) as inner:
        with ScriptedServer(hostile.redirect(inner.base_url, 301)) as outer:
            assert post(outer.base_url).status == 301

        assert inner.received == []


def test_no_more_of_an_answer_is_read_than_anyone_needs() -> None:
    with ScriptedServer(hostile.huge_body()) as server:
        assert len(post(server.base_url).body) == MAX_ANSWER_BYTES


def test_an_answer_that_does_not_come_in_time_is_a_timeout() -> None:
    with ScriptedServer(hostile.says_nothing) as server, pytest.raises(TransportError) as caught:
        post(server.base_url, timeout_s=0.2)

    assert caught.value.failure.kind is FailureKind.TIMEOUT
    assert caught.value.message == "There was no answer within 0.2 s."


def test_an_answer_that_trickles_is_cut_off_too() -> None:
    with ScriptedServer(hostile.pings_for_ever) as server, pytest.raises(TransportError, match=r"within 0\.2 s"):
        post(server.base_url, timeout_s=0.2)
