"""`monitor up`: everything on one machine, under one supervisor, from nothing at all."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from monitor.datadir import DataDir
from monitor.service.broker import valkey_server
from monitor.service.installation import Installation
from monitor.service.lock import held
from monitor.service.python import python
from monitor.service.sockets import listening, socket_folder, url_of
from monitor.service.wakeups import HANDLED, leave_if_asked, starting
from monitor.settings import Settings


@contextmanager
def installed(settings: Settings, host: str, port: int) -> Iterator[Installation]:
    """Hold the data directory and the address. Raises AlreadyRunningError, UsageError or StorageError."""
    data = DataDir(settings.data_dir)
    folder = data.path.absolute()
    with starting(), held(data) as lock, listening(host, port) as listener, socket_folder(data.path) as sockets:
        yield Installation(
            host=host,
            url=url_of(host, listener),
            log_format=settings.log_format,
            data=str(folder),
            lock=lock.descriptor,
            listener=listener.fileno(),
            sockets=str(sockets),
            own_sockets=sockets != folder,
            broker=str(valkey_server()) if settings.broker_url is None else None,
            reference=str(sockets / "reference.sock") if settings.reference_url is None else None,
        )


def keep(installation: Installation) -> NoReturn:
    """Become the program that keeps the children: the same process with what it holds, without the modules that it
    took to get here, which are most of its memory."""
    for descriptor in (installation.lock, installation.listener):
        os.set_inheritable(descriptor, True)
    # They wait for the new program, whose own handlers are not there from its first line.
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    leave_if_asked()
    command = python("monitor.service.keep", installation.to_json())
    os.execv(command[0], command)  # noqa: S606
