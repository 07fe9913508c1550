"""Whether the broker answers, as its URL says how to ask."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from monitor.service.reach import answers
from tests.endpoints.certificates import Authority


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Of a broker behind TLS whose certificate nobody trusts."""
    context = Authority(tmp_path).server_context("127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=_serve, args=(listener, context))
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def _serve(listener: socket.socket, context: ssl.SSLContext) -> None:
    plain, _ = listener.accept()
    try:
        with context.wrap_socket(plain, server_side=True) as connection:
            while received := connection.recv(4096):
                connection.sendall(b"+PONG\r\n" * received.count(b"*"))
    except ssl.SSLError:
        plain.close()


@pytest.mark.parametrize(
    ("spelling", "answered"), [("CERT_NONE", True), ("none", True), ("CERT_REQUIRED", False), ("required", False)]
)
def test_how_far_its_certificate_is_checked_is_spelled_as_celery_does(port: int, spelling: str, answered: bool) -> None:
    assert answers(f"rediss://127.0.0.1:{port}/0?protocol=2&ssl_cert_reqs={spelling}") is answered
