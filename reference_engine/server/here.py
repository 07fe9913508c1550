"""The server inside a process that has the engine already: on a free port, for as long as it is needed."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from reference_engine.errors import EngineError
from reference_engine.interface import Address, ServableBackend
from reference_engine.server.app import create_app
from reference_engine.server.bearer import BearerGate
from reference_engine.server.run import DrainingServer, base_url, bind
from reference_engine.server.settings import ServerSettings

_LOOK_EVERY_S = 0.1


@contextmanager
def served_here(engine: ServableBackend, settings: ServerSettings) -> Iterator[Address]:
    """Serves `engine`, which stays the caller's to close; requests that still run at the end are broken off."""
    app, token = create_app(engine, settings), secrets.token_urlsafe()
    with bind("127.0.0.1", 0) as bound:
        ready = threading.Event()
        server = DrainingServer(BearerGate(app, token), ready.set, app.state.drain)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="reference-server", daemon=True)
        thread.start()
        while not ready.wait(_LOOK_EVERY_S):
            if not thread.is_alive():
                raise EngineError("The server over the reference did not start.", remedy="The log says why.")
        try:
            yield Address(base_url(*bound.getsockname()[:2]), token)
        finally:
            server.should_exit = True
            thread.join()
