"""`monitor up`: the whole service on one machine, from nothing at all."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from monitor.service.embedded import installed, keep
from monitor.service.preparation import NotPreparedError, Prepared, prepared
from monitor.service.stderr import Stderr
from monitor.settings import load_settings


def up(
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback need a user first.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8080,
) -> None:
    """Run the whole service: database, broker, reference, web, and a worker with beat. Ctrl-C or SIGTERM stops all of
    it, SIGHUP reads the configuration file again."""
    settings = load_settings()
    with installed(settings, host, port) as installation:
        begin = _prepared(host)
        installation.tell()
        _greet(installation.url, begin, Stderr(settings.log_format))
        keep(installation)


def _prepared(host: str) -> Prepared:
    try:
        return prepared(host)
    except NotPreparedError as error:
        raise typer.Exit(error.exit_code) from None


def _greet(url: str, begin: Prepared, stderr: Stderr) -> None:
    for text in begin.notes:
        stderr.note(text)
    typer.echo(f"The service is at {url}")
    if begin.set_up_token is not None:
        typer.echo(f"Everything is open to this machine until there is a user: {url}/setup?token={begin.set_up_token}")
    sys.stdout.flush()
