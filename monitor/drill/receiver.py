"""A receiver of the drill's own, for where no channel is configured: it believes what is signed, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

_TIMEOUT_S = 30.0


@contextmanager
def own_receiver(secret: str) -> Iterator[str]:
    """Its URL. It answers 204 to a message that the library of Standard Webhooks verifies, 400 to any other."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(Webhook(secret))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def _handler(webhook: Webhook) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _TIMEOUT_S

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            try:
                webhook.verify(body, dict(self.headers.items()))
            except WebhookVerificationError:
                self._answer(400)
            else:
                self._answer(204)

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature is the library's
            """The drill tells what was taken."""

    return Handler
