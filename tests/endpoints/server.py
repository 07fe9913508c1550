"""A real HTTP/1.1 server on 127.0.0.1 in a thread of its own; what it answers, down to the bytes, is a coroutine's."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Received:
    """One request as it came; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value


class Connection:
    """The answering side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.open = True

    async def reply(
        self,
        status: int,
        body: bytes | str | Mapping[str, Any],
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """A whole answer with its length."""
        if isinstance(body, Mapping):
            body = json.dumps(body)
        raw = body.encode() if isinstance(body, str) else body
        head = {"Content-Type": content_type, "Content-Length": str(len(raw)), **(headers or {})}
        await self.raw(_head(status, head) + raw)

    async def begin(
        self, status: int = 200, *, content_type: str = "text/event-stream", headers: Mapping[str, str] | None = None
    ) -> None:
        """The head of a chunked answer."""
        await self.raw(_head(status, {"Content-Type": content_type, "Transfer-Encoding": "chunked", **(headers or {})}))

    async def chunk(self, data: bytes | str) -> None:
        raw = data.encode() if isinstance(data, str) else data
        await self.raw(b"%x\r\n%s\r\n" % (len(raw), raw))

    async def event(self, value: Mapping[str, Any] | str) -> None:
        """One server-sent event in a chunk of its own."""
        text = value if isinstance(value, str) else json.dumps(value)
        await self.chunk(f"data: {text}\n\n")

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def gone(self) -> None:
        """Wait until the client has closed its side."""
        await self._reader.read()
        self.open = False

    def reset(self) -> None:
        """End the connection with a TCP reset, dropping what was not yet sent."""
        raw: socket.socket = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        self.open = False

    def close(self) -> None:
        """End the connection in good order, wherever in an answer it stands."""
        self._writer.close()
        self.open = False


Handler = Callable[[Received, Connection], Awaitable[None]]


@dataclass
class ScriptedServer:
    """`with ScriptedServer(handler) as server:` listens on a free port. `received` holds every request, in order."""

    handler: Handler
    tls: ssl.SSLContext | None = None
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    errors: list[BaseException] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if kind is None and self.errors:
            raise self.errors[0]

    def stop(self) -> None:
        """Close every connection and refuse new ones; doing so twice is the same as once."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.tls)
        self.port: int = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._converse(reader, Connection(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        except Exception as error:  # noqa: BLE001 - a fault of the script must fail its test, not hang it
            self.errors.append(error)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, connection: Connection) -> None:
        while connection.open:
            request = await _read(reader)
            if request is None:
                await connection.reply(400, "The plain HTTP request was sent in TLS.", content_type="text/plain")
                return
            self.received.append(request)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                await self.handler(request, connection)
            finally:
                self.in_flight -= 1


_TLS_HANDSHAKE = b"\x16"


async def _read(reader: asyncio.StreamReader) -> Received | None:
    """The next request, None where the client speaks TLS to a plain port."""
    start = await reader.readexactly(1)
    if start == _TLS_HANDSHAKE:
        return None
    head = start + await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = [line.split(":", 1) for line in lines if line]
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, body)


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode("latin-1")
