"""`monitor up`: the whole service on one machine, from nothing at all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from monitor.service.embedded import Prepared, installed, prepared
from monitor.service.relay import as_json, prefixed
from monitor.service.supervisor import NAME, Supervisor
from monitor.settings import load_settings


def up(
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback need a user first.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8080,
) -> None:
    """Run the whole service: database, broker, reference, web, worker and beat. Ctrl-C or SIGTERM stops all of it,
    SIGHUP reads the configuration file again."""
    settings = load_settings()
    log = _Log()
    form = as_json if settings.log_format == "json" else prefixed

    def note(text: str) -> None:
        log.write((as_json(NAME, text) if settings.log_format == "json" else text) + "\n")

    with installed(settings, host, port) as installation:
        begin = prepared(host)
        installation.tell()
        supervisor = Supervisor(
            installation.children(), on_hangup=lambda: _reload(host, note), form=form, write=log.write
        )
        _greet(installation.url, begin, note)
        supervisor.run()


def _greet(url: str, begin: Prepared, note: Callable[[str], None]) -> None:
    for text in begin.notes:
        note(text)
    typer.echo(f"The service is at {url}")
    if begin.set_up_token is not None:
        typer.echo(f"Everything is open to this machine until there is a user: {url}/setup?token={begin.set_up_token}")
    sys.stdout.flush()


def _reload(host: str, note: Callable[[str], None]) -> None:
    try:
        notes = prepared(host).notes
    except typer.Exit:
        # What was applied before stays in force; the process that looked has said what is wrong.
        return
    for text in notes:
        note(text)


class _Log:
    """Stderr, until whoever reads it is gone: the service does not end with its reader."""

    def __init__(self) -> None:
        self._open = True

    def write(self, text: str) -> None:
        if not self._open:
            return
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self._open = False
