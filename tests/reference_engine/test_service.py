"""The exchange with a reference service: what is an address, and what happens when the other side misbehaves."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from reference_engine.address import read_address
from reference_engine.errors import EngineError, EngineRequestError
from reference_engine.server.run import bind
from reference_engine.service import ReferenceService
from tests.reference_engine.pool_server import url_of

ANSWER = b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"one":1}'


def answering(*answers: bytes) -> Callable[[socket.socket], None]:
    """Each connection gets one question and the next of the answers, and is closed."""

    def serve(listening: socket.socket) -> None:
        for answer in answers:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    return serve


@contextmanager
def misbehaving(serve: Callable[[socket.socket], None], *, timeout_s: float = 60) -> Iterator[ReferenceService]:
    with bind("127.0.0.1", 0) as listening:
        listening.listen()
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        yield ReferenceService(url_of(listening), token=None, timeout_s=timeout_s, patience_s=0)
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:8002", "http://127.0.0.1:8002"),
        ("http://[::1]:8002/", "http://[::1]:8002"),
        ("https://reference.example/pool/", "https://reference.example/pool"),
        ("unix:/run/pool.sock", "unix:/run/pool.sock"),
        ("unix:///run/pool.sock", "unix:/run/pool.sock"),
    ],
)
def test_an_address_is_read(url: str, shown: str) -> None:
    assert str(read_address(url)) == shown


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:8002", "ftp://host", "http://", "unix:pool.sock", "unix://host/p", "http://h:port", "http://[x"],
)
def test_what_is_no_address_is_refused_with_the_forms_there_are(url: str) -> None:
    with pytest.raises(EngineRequestError, match="unix:/PATH"):
        read_address(url)


@pytest.mark.parametrize("url", ["http://me:canary@host", "http://canary@host", "http://host/?token=canary"])
def test_a_secret_in_an_address_is_refused_unseen(url: str) -> None:
    with pytest.raises(EngineRequestError) as caught:
        read_address(url)

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("broken", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"])
def test_a_connection_that_breaks_is_tried_once_more(broken: bytes) -> None:
    with misbehaving(answering(broken, ANSWER)) as service:
        assert service.ask("/", {}) == {"one": 1}


def test_a_service_that_breaks_every_connection_is_given_up() -> None:
    with misbehaving(answering(b"", b"")) as service, pytest.raises(EngineError, match="broke off its answer"):
        service.ask("/", {})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>", "not JSON"),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            "answers with status 302",
        ),
        (b'HTTP/1.1 404 No\r\nContent-Length: 23\r\n\r\n{"detail": "Not Found"}', "answers with status 404"),
        (b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n[]", "answers with status 500"),
    ],
)
def test_what_is_no_reference_service_is_a_reference_that_cannot_be_used(answer: bytes, said: str) -> None:
    with misbehaving(answering(answer)) as service, pytest.raises(EngineError, match=said) as caught:
        service.ask("/", {})

    assert caught.value.exit_code == 6


def test_an_answer_that_never_comes_is_given_up() -> None:
    gave_up = threading.Event()

    def silent(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            assert gave_up.wait(60)

    with misbehaving(silent, timeout_s=0.1) as service:
        with pytest.raises(EngineError, match=r"no answer in 0\.1 seconds"):
            service.ask("/", {})
        gave_up.set()
