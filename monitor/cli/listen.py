"""`monitor webhook listen`: a small receiver on this machine, to see what a channel sends."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated

import typer

from monitor import clock
from monitor.cli.output import print_message
from monitor.cli.webhook_secret import read_secret
from monitor.deliveries.incoming import Incoming
from monitor.deliveries.signature import ID, mismatch
from monitor.errors import UsageError
from monitor.redaction import safe_text

MAX_BODY_BYTES = 1_000_000
TIMEOUT_S = 30.0


def listen(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 8090,
    secret_file: Annotated[
        Path | None, typer.Option(help="Holds the channel's secret, whsec_…; without it nothing is verified.")
    ] = None,
    show_body: Annotated[bool, typer.Option("--body", help="Print whole bodies, not a line for each message.")] = False,
) -> None:
    """Receive messages on this machine, verify them, and print what they say."""
    secrets = [] if secret_file is None else [read_secret(secret_file)]
    with _server(port, _handler(secrets, show_body=show_body)) as server:
        print_message(f"Listening on http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it).")
        server.serve_forever()


def _server(port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise UsageError(f"Port {port} cannot be used: {error.strerror}.", remedy="Give another --port.") from error


def _handler(secrets: list[str], *, show_body: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = TIMEOUT_S

        def do_POST(self) -> None:
            message = self._message()
            if message is None:
                self._answer(413)
                return
            problem = mismatch(message.headers, message.body, secrets, clock.now()) if secrets else None
            typer.echo(_line(message, problem, verified=bool(secrets)))
            if show_body:
                typer.echo(safe_text(message.body.decode("utf-8", "replace")))
            self._answer(400 if problem else 204)

        def _message(self) -> Incoming | None:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
                return None
            headers = {name.lower(): value for name, value in self.headers.items()}
            return Incoming(headers, self.rfile.read(int(length)))

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature is the library's
            """Each message has its own line."""

    return Handler


def _line(message: Incoming, problem: str | None, *, verified: bool) -> str:
    judged = "not verified" if not verified else f"REFUSED: {problem}" if problem else "verified"
    document = message.document
    data = document.get("data")
    alerts = data.get("alerts") if isinstance(data, dict) else None
    said = [str(alert.get("summary")) for alert in alerts or () if isinstance(alert, dict)]
    kind = document.get("type", message.headers.get("content-type", "?"))
    parts = [message.headers.get(ID, "no id"), str(kind), judged, *said]
    return safe_text("  ".join(part.replace("\n", " ") for part in parts))
