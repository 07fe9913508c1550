"""A reference service on a unix socket or a free port, in a thread, that a test may stop and start again."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from reference_engine.server.pool import ReferencePool
from reference_engine.server.pool_app import create_pool_app


@contextmanager
def running_pool(bound: socket.socket, *, keep: int = 2, token: str | None = None) -> Iterator[ReferencePool]:
    """Serves on `bound`, which is closed at the end."""
    pool, started = ReferencePool(keep), threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: object = None) -> None:
            await super().startup(sockets=[bound])
            started.set()

    server = Server(uvicorn.Config(create_pool_app(pool, token), log_level="warning", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    assert started.wait(60)
    try:
        yield pool
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
        pool.close()
        bound.close()


def url_of(bound: socket.socket) -> str:
    return f"http://127.0.0.1:{bound.getsockname()[1]}"
