"""`monitor web`: the pages and the API, as one process of the service."""

from __future__ import annotations

import socket
from typing import Annotated

import typer
import uvicorn

from monitor import clock
from monitor.access.hosts import check_bind
from monitor.cli.output import print_message
from monitor.cli.recorded import created_store
from monitor.logs import configure_service_logging
from monitor.service.here import deployment
from monitor.service.sockets import listening, url_of
from monitor.service.unsafe import check_web
from monitor.settings import Settings, load_settings
from monitor.store.access import Access

_SHUTDOWN_S = 5


def web(
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback need a user first.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8080,
    fd: Annotated[
        int | None, typer.Option(min=3, help="Descriptor of a socket that listens already, instead of host and port.")
    ] = None,
) -> None:
    """Serve the pages and the API until SIGTERM or Ctrl-C. Any number of them may serve one PostgreSQL database."""
    settings = load_settings()
    configure_service_logging("web", settings.log_format)
    if fd is None:
        _check(settings, host)
        listener = listening(host, port)
        print_message(f"The service is at {url_of(host, listener)}")
    else:
        listener = socket.socket(fileno=fd)
        _check(settings, listener.getsockname()[0])
    with listener:
        uvicorn.Server(_application()).run(sockets=[listener])


def _check(settings: Settings, host: str) -> None:
    with created_store() as store:
        check_web(deployment(settings, store, clock.now()))
        check_bind(host, has_users=Access(store.sessions).has_users())


def _application() -> uvicorn.Config:
    return uvicorn.Config(
        # By its name: the pages are built on this package, not the other way round.
        "dashboards.app:app",
        log_config=None,
        # Its lines would hold every URL.
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
