"""One question to a reference service and its answer, as JSON over HTTP: kept connections, restarts outlived."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from numbers import Integral
from typing import Any, ClassVar

from reference_engine.address import connection_to, read_address
from reference_engine.errors import EngineError, EngineRequestError, ModelFileError, ModelNotFoundError
from reference_engine.interface import Address

_RETRY_SECONDS = 0.1
_KINDS = {kind.code: kind for kind in (EngineError, ModelFileError, ModelNotFoundError, EngineRequestError)}
_VERSION_REMEDY = "Run the same release there as here."


class ReferenceService:
    """Safe for several threads, each of which has a connection for as long as it asks.

    Every question may be asked twice with the same answer, so one whose connection breaks is asked once more. While
    nobody listens, as during a restart, a connection is tried for `patience_s` seconds. An answer may take `timeout_s`
    seconds, the forward passes of others before it included.
    """

    _TRIES: ClassVar[int] = 2

    def __init__(self, url: str, *, token: str | None, timeout_s: float, patience_s: float) -> None:
        self.address = read_address(url)
        self._token = token
        self._headers = _headers(token)
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._idle: list[HTTPConnection] = []
        self._lock = threading.Lock()
        self._closed = False

    def ask(self, route: str, question: Mapping[str, Any]) -> Any:
        """Raises the EngineError that the service answers with, or one that says why there is no answer."""
        body = _written(question)
        for left in reversed(range(self._TRIES)):
            connection = self._take()
            try:
                return self._exchange(connection, route, body)
            except TimeoutError as error:
                raise self._error(f"gave no answer in {self._timeout_s:g} seconds") from error
            except (OSError, HTTPException) as error:
                # The others were opened to the same process, which is likely to be gone.
                self._drop_idle()
                if left == 0:
                    raise self._error(f"broke off its answer: {_reason(error)}") from error
        raise AssertionError("unreachable")

    def served_at(self, path: str) -> Address:
        """The address of an OpenAI-compatible server among the service's paths."""
        at = self.address
        if at.scheme == "unix":
            return Address(f"http://localhost{path}/v1", self._token, at.path)
        return Address(f"{at}{path}/v1", self._token)

    def close(self) -> None:
        """Every later question raises EngineError."""
        self._closed = True
        self._drop_idle()

    def _take(self) -> HTTPConnection:
        if self._closed:
            raise EngineError("The connection to the reference service is closed.", remedy="Open the model again.")
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connected()

    def _connected(self) -> HTTPConnection:
        patience_ends = time.monotonic() + self._patience_s
        while True:
            connection = connection_to(self.address)
            try:
                connection.connect()
            except OSError as error:
                connection.close()
                if time.monotonic() >= patience_ends:
                    remedy = "Start it with `reference-engine pool`, or correct MONITOR_REFERENCE_URL."
                    raise self._error(f"cannot be reached: {_reason(error)}", remedy) from error
                time.sleep(_RETRY_SECONDS)
                continue
            connection.sock.settimeout(self._timeout_s)
            # Notices a machine that went away without a word, long before the answer would be overdue.
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return connection

    def _exchange(self, connection: HTTPConnection, route: str, body: bytes) -> Any:
        prefix = "" if self.address.scheme == "unix" else self.address.path
        try:
            connection.request("POST", prefix + route, body, self._headers)
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)
        if answer.status != 200:
            raise self._refusal(answer.status, content)
        try:
            return json.loads(content)
        except ValueError as error:
            raise self._error("gave an answer that is not JSON", _VERSION_REMEDY) from error

    def _give_back(self, connection: HTTPConnection) -> None:
        with self._lock:
            if connection.sock is not None and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _drop_idle(self) -> None:
        with self._lock:
            dropped, self._idle = self._idle, []
        for connection in dropped:
            connection.close()

    def _refusal(self, status: int, content: bytes) -> EngineError:
        if status == 401:
            return self._error("refuses the token", "Give MONITOR_REFERENCE_TOKEN the value that the service has.")
        if status in (404, 405):
            remedy = "Check that this address is a reference service, and of the release that runs here."
            return self._error(f"answers with status {status}", remedy)
        try:
            problem = json.loads(content)
            return _KINDS.get(problem["code"], EngineError)(problem["detail"], remedy=problem["remedy"])
        except (ValueError, KeyError, TypeError):
            return self._error(f"answers with status {status}", "Check that this address is a reference service.")

    def _error(self, what: str, remedy: str = "") -> EngineError:
        return EngineError(f"The reference service at {self.address} {what}.", remedy=remedy)

    def unreadable(self) -> EngineError:
        return self._error("gave an answer of another form than expected", _VERSION_REMEDY)


def _headers(token: str | None) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    if token is None:
        return headers
    if not (token.isascii() and token.isprintable()):
        raise EngineRequestError("The token of the reference service has characters that no header can carry.")
    return headers | {"Authorization": f"Bearer {token}"}


def _written(question: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(question, allow_nan=False, separators=(",", ":"), default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise EngineRequestError(
            "The reference service cannot be asked this: it is not JSON.",
            remedy="Use text, finite numbers, lists and mappings.",
        ) from error


def _plain(value: object) -> object:
    """Callers may hold numpy's integers, and mappings that are no dict."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
