"""An endpoint on this machine, for the demo: `reference-engine serve` in a process of its own, on a port that stays."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from monitor import clock
from monitor.errors import MonitorError
from monitor.service.python import python
from monitor.service.tether import tether
from probes.client import Client
from probes.errors import ProbeError
from probes.target import Target

_READY_WITHIN = 120.0
_STOPS_WITHIN = 20.0
_LOOK_EVERY = 0.2


class LocalEndpoint:
    """Runs one stack at a time; leaving it stops what runs, and so does the end of this process, however it comes.
    `log` gets the server's words."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def serve(self, arguments: Sequence[str]) -> None:
        """Stop what runs, start the engine with these arguments, and wait until it answers."""
        self.stop()
        command = python("reference_engine", "serve", "--port", str(self._port), *arguments)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=tether()
            )
        asyncio.run(self._ready(self._process))

    async def _ready(self, process: subprocess.Popen[bytes]) -> None:
        target = Target(base_url=self.base_url, served_name="any", allow_private=True)
        until = clock.monotonic() + _READY_WITHIN
        async with Client(target) as client:
            while process.poll() is None and clock.monotonic() < until:
                try:
                    await client.models()
                except ProbeError:
                    await asyncio.sleep(_LOOK_EVERY)
                else:
                    return
        raise MonitorError(
            f"The local endpoint did not start: {self._last_words()}", remedy="Run `reference-engine serve` to see why."
        )

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
