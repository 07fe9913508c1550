"""A provider's HTTP server on this machine, in the moods that `monitor providers check` has to tell apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

KEY = "canary-key-5b1e0f6d"

LOGPROBS = {"content": [{"token": "Hi", "bytes": [72, 105], "logprob": -0.1, "top_logprobs": [
    {"token": "Hi", "bytes": [72, 105], "logprob": -0.1}]}]}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Serves the model `served`; the first part of the path is the mood."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.startswith("/no-list/"):
            self._send(404, {"error": {"message": "no such page"}})
        else:
            self._authorized(200, {"object": "list", "data": [{"id": "served", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.startswith("/html/"):
            self._send(200, "<html>welcome</html>", kind="text/html")
        elif body["model"] != "served":
            self._send(
                404, {"error": {"message": f"The model {body['model']} does not exist", "code": "model_not_found"}}
            )
        else:
            self._authorized(200, self._answer(with_logprobs=not self.path.startswith("/no-logprobs/")))

    def _answer(self, *, with_logprobs: bool) -> dict[str, Any]:
        message = {"role": "assistant", "content": "Hi"}
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "length",
            "logprobs": LOGPROBS if with_logprobs else None,
        }
        usage = {"prompt_tokens": 8, "completion_tokens": 1, "total_tokens": 9}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "served",
            "choices": [choice],
            "usage": usage,
        }

    def _authorized(self, status: int, body: object) -> None:
        if self.headers["Authorization"] == f"Bearer {KEY}":
            self._send(status, body)
        else:
            self._send(401, {"error": {"message": f"Incorrect API key: {self.headers['Authorization']}"}})

    def _send(self, status: int, body: object, kind: str = "application/json") -> None:
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Quiet: stderr is what the tests look at."""


@contextmanager
def serving() -> Iterator[str]:
    """The server's root URL while it runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
