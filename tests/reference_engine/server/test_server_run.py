"""The port: had before the model is loaded, opened only after."""

from __future__ import annotations

import socket

import pytest
from fastapi import FastAPI

from reference_engine.errors import EngineRequestError
from reference_engine.server.run import base_url, bind, serve


def test_a_bound_port_refuses_clients_until_it_listens() -> None:
    with bind("127.0.0.1", 0) as bound:
        address = bound.getsockname()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        bound.listen()
        socket.create_connection(address).close()


def test_a_port_that_another_listens_on_is_named() -> None:
    with bind("127.0.0.1", 0) as holder:
        holder.listen()
        port = holder.getsockname()[1]

        with pytest.raises(EngineRequestError, match=rf"127.0.0.1 port {port}: Address already in use"):
            bind("127.0.0.1", port)


def test_of_two_that_were_given_the_port_while_nobody_listened_the_later_is_refused() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with bind("127.0.0.1", port) as second:
            first.listen()

            with pytest.raises(EngineRequestError, match=f"127.0.0.1 port {port}: Address already in use"):
                serve(FastAPI(), second, lambda: pytest.fail("it said that it was ready"))


def test_the_base_url_is_one_a_client_can_use() -> None:
    assert base_url("127.0.0.1", 8001) == "http://127.0.0.1:8001/v1"
    assert base_url("::1", 8001) == "http://[::1]:8001/v1"
