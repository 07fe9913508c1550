"""One service per data directory: a lock that ends with the process that holds it, and says which one that is."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.errors import AlreadyRunningError, StorageError

if TYPE_CHECKING:
    from monitor.datadir import DataDir

_MORE_TRIES = 4
_BETWEEN_TRIES_S = 0.05


@dataclass(frozen=True, slots=True)
class Running:
    """The service that runs on a data directory; `url` and `broker_url` once it listens."""

    pid: int
    url: str | None = None
    broker_url: str | None = None


class HeldLock:
    """Whoever has the descriptor holds the lock, also another program in the same process."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def tell(self, running: Running) -> None:
        """Leave a note for `monitor status` and whoever tries to start a second service."""
        try:
            self.clear()
            os.pwrite(self.descriptor, json.dumps(asdict(running)).encode(), 0)
        except OSError as error:
            raise StorageError(
                f"The lock of the data directory cannot be written: {error.strerror}.", remedy="Free some space."
            ) from error

    def clear(self) -> None:
        os.truncate(self.descriptor, 0)


@contextmanager
def held(data: DataDir) -> Iterator[HeldLock]:
    """Hold the data directory. Raises AlreadyRunningError where another process does, on this machine, StorageError
    where it cannot be held."""
    data.create()
    with data.storage_errors("lock"):
        # Private: a reader of the note learns where the broker is.
        descriptor = os.open(_path(data), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with data.storage_errors("lock"):
            if not any(_taken(descriptor) for _ in _tries()):
                raise _already_running(data, _note(_path(data)))
        lock = HeldLock(descriptor)
        lock.tell(Running(os.getpid()))
        yield lock
        lock.clear()
    finally:
        os.close(descriptor)


def running(data: DataDir) -> Running | None:
    """The service that holds the data directory, None where none does. Raises StorageError."""
    if not data.has(_path(data)):
        return None
    with data.storage_errors("look into"):
        descriptor = os.open(_path(data), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return None if _taken(descriptor) else _note(_path(data))
        finally:
            os.close(descriptor)


def _path(data: DataDir) -> Path:
    return data.path / "lock"


def _tries() -> Iterator[None]:
    """A few: `running` holds the lock for a moment to see whether it is free."""
    yield None
    for _ in range(_MORE_TRIES):
        time.sleep(_BETWEEN_TRIES_S)
        yield None


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _note(path: Path) -> Running | None:
    """What the holder says; None for the moment in which it has not yet."""
    try:
        return Running(**json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError):
        return None


def _already_running(data: DataDir, holder: Running | None) -> AlreadyRunningError:
    who = "another process" if holder is None else f"process {holder.pid}"
    where = f" ({holder.url})" if holder is not None and holder.url else ""
    return AlreadyRunningError(
        f"The data directory {data.path} is in use by {who}{where}.",
        remedy="Stop that one first, or set MONITOR_DATA_DIR to another directory.",
    )
