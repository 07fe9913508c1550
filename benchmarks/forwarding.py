"""What a proxy does in front of an endpoint: hands requests on, and answers with what came."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any

_PATIENCE_S = 120.0


class Forwarding(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._forward(None)

    def do_POST(self) -> None:
        self._forward(self.asked(self.rfile.read(int(self.headers.get("Content-Length", "0")))))

    def towards(self) -> tuple[str, Mapping[str, str]]:
        """The URL of the endpoint that is to answer, and headers beside the one of the content."""
        raise NotImplementedError

    def asked(self, body: bytes) -> bytes:
        """The body that the endpoint gets."""
        return body

    def _forward(self, body: bytes | None) -> None:
        url, headers = self.towards()
        sent = {"Content-Type": "application/json", **headers}
        request = urllib.request.Request(url, data=body, method=self.command, headers=sent)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE_S) as response:
                self.answer(response.status, response.headers.get("Content-Type", ""), response.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, error.headers.get("Content-Type", ""), error.read())
        except OSError:
            self.answer(502, "application/json", b'{"error":{"message":"upstream is down"}}')

    def answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing: to the client the proxy is the endpoint."""
