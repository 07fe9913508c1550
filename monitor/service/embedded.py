"""`monitor up`: everything on one machine, under one supervisor, from nothing at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

import typer

from monitor.datadir import DataDir
from monitor.service.broker import Broker
from monitor.service.child import Child
from monitor.service.lock import HeldLock, Running, held
from monitor.service.sockets import listening, socket_folder, url_of
from monitor.service.tether import tether
from monitor.settings import PREFIX, Settings

# Checks wait for providers most of the time.
WORKER_THREADS = 8


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `monitor.service.prepare` found: `set_up_token` is None once there is a user; `notes` are for whoever starts
    the service."""

    set_up_token: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Installation:
    """What `monitor up` holds while it runs. `broker` and `reference` (a socket) are None where the environment names
    servers that run already."""

    settings: Settings
    lock: HeldLock
    listener: socket
    url: str
    broker: Broker | None
    reference: Path | None

    def children(self) -> list[Child]:
        environment = self._environment()
        found = []
        if self.broker is not None:
            found.append(self.broker.child(environment))
        if self.reference is not None:
            pool = _python("reference_engine", "pool", "--socket", str(self.reference))
            found.append(Child("reference", pool, environment, stage=0))
        listener = self.listener.fileno()
        worker = _python("monitor", "worker", "--pool", "threads", "--concurrency", str(WORKER_THREADS))
        return [
            *found,
            Child("web", _python("monitor", "web", "--fd", str(listener)), environment, sockets=(listener,)),
            Child("worker", worker, environment),
            Child("beat", _python("monitor", "beat"), environment),
        ]

    def _environment(self) -> Mapping[str, str]:
        # glibc gives every thread an arena of its own, and what they keep back is a quarter of a worker's memory.
        own = {"PYTHONUNBUFFERED": "1", "MALLOC_ARENA_MAX": "2"}
        if self.broker is not None:
            own[f"{PREFIX}BROKER_URL"] = self.broker.url
        if self.reference is not None:
            own[f"{PREFIX}REFERENCE_URL"] = f"unix:{self.reference}"
        return {**os.environ, **own}

    def tell(self) -> None:
        """Let `monitor status` and others find what runs."""
        self.lock.tell(Running(os.getpid(), self.url, None if self.broker is None else self.broker.url))


@contextmanager
def installed(settings: Settings, host: str, port: int) -> Iterator[Installation]:
    """Hold the data directory and the address. Raises AlreadyRunningError, UsageError or StorageError."""
    data = DataDir(settings.data_dir)
    with held(data) as lock, listening(host, port) as listener, socket_folder(data.path) as sockets:
        broker = Broker(data.path.absolute() / "broker", sockets / "broker.sock")
        yield Installation(
            settings,
            lock,
            listener,
            url_of(host, listener),
            broker if settings.broker_url is None else None,
            sockets / "reference.sock" if settings.reference_url is None else None,
        )


def prepared(host: str) -> Prepared:
    """Bring database and configuration up to date, in a process of its own: what that takes stays out of this one.

    What is wrong it tells itself; its exit code is this one's then.
    """
    ran = subprocess.run(  # noqa: S603 - our own program
        _python("monitor.service.prepare", host), stdout=subprocess.PIPE, preexec_fn=tether(), check=False
    )
    if ran.returncode != 0:
        raise typer.Exit(ran.returncode)
    document = json.loads(ran.stdout)
    return Prepared(document["set_up_token"], tuple(document["notes"]))


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)
