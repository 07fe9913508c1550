"""A real server on a free port in front of the tiny reference, and the official client for it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from openai import OpenAI

from reference_engine import load_engine
from reference_engine.interface import ReferenceBackend
from reference_engine.server import ServerSettings, create_app
from reference_engine.server.run import DrainingServer, bind
from tests.reference_engine.server.tiny_backend import TinyBackend

StartServer = Callable[..., str]


@contextmanager
def stoppable(engine: ReferenceBackend, settings: ServerSettings) -> Iterator[tuple[str, Callable[[], None]]]:
    """The base URL without /v1, and what SIGTERM does to the server."""
    bound = bind("127.0.0.1", 0)
    started = threading.Event()
    app = create_app(engine, settings)
    server = DrainingServer(app, started.set, app.state.drain)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    assert started.wait(60)

    def stop() -> None:
        if not server.should_exit:
            server.handle_exit(signal.SIGTERM, None)

    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}", stop
    finally:
        stop()
        thread.join(60)
        assert not thread.is_alive()


@contextmanager
def running(engine: ReferenceBackend, settings: ServerSettings) -> Iterator[str]:
    """What still runs at the end of the block is told to end."""
    with stoppable(engine, replace(settings, drain_s=0.0)) as (url, _):
        yield url


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """`start_server(engine, settings) -> base URL without /v1`."""
    with ExitStack() as stack:

        def start(engine: ReferenceBackend, settings: ServerSettings | None = None) -> str:
            return stack.enter_context(running(engine, settings or ServerSettings()))

        yield start


@pytest.fixture
def backend() -> TinyBackend:
    return TinyBackend(script="Bonjour, né à 5 € 😀.".encode())


@pytest.fixture
def url(start_server: StartServer, backend: TinyBackend) -> str:
    return start_server(backend)


@pytest.fixture(scope="session")
def lasting_url() -> Iterator[str]:
    """A server for tests that leave no trace in it."""
    with running(TinyBackend(script=b"hello"), ServerSettings()) as url:
        yield url


@pytest.fixture(scope="session")
def lasting_http(lasting_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=lasting_url, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def bundled_engine(bundled_model: Path) -> Iterator[ReferenceBackend]:
    engine = load_engine(bundled_model)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def bundled_url(bundled_engine: ReferenceBackend) -> Iterator[str]:
    with running(bundled_engine, ServerSettings(seed=1)) as url:
        yield url


@pytest.fixture
def http(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=60) as client:
        yield client


@pytest.fixture
def client(url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=60) as client:
        yield client
