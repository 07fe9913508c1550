"""Keeps the children of an installation running: what `monitor up` becomes once everything is held and made ready.

A program of its own (`python -m monitor.service.keep INSTALLATION`) that imports little, since it stays.
"""

from __future__ import annotations

import os
import sys

from monitor.errors import ServiceFailedError
from monitor.service.installation import Installation
from monitor.service.preparation import NotPreparedError, prepared
from monitor.service.stderr import Stderr
from monitor.service.supervisor import Supervisor

_INTERRUPTED = 130


def keep(installation: Installation) -> None:
    """Until SIGTERM or SIGINT. Raises ServiceFailedError where a child cannot be kept running."""
    for descriptor in (installation.lock, installation.listener):
        os.set_inheritable(descriptor, False)
    stderr = Stderr(installation.log_format)
    try:
        Supervisor(
            installation.children(),
            on_hangup=lambda: _reload(installation.host, stderr),
            form=stderr.form,
            write=stderr.write,
        ).run()
    finally:
        installation.leave()


def _reload(host: str, stderr: Stderr) -> None:
    try:
        notes = prepared(host).notes
    except NotPreparedError:
        # What was applied before stays in force; the process that looked has said what is wrong.
        return
    except ServiceFailedError as error:
        stderr.note(error.message)
        return
    for text in notes:
        stderr.note(text)


def main() -> int:
    """An error goes to stderr as a command's does."""
    try:
        keep(Installation.from_json(sys.argv[1]))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the boundary of a process: what it was is told and given as exit code
        return _told(error)
    return 0


def _told(error: Exception) -> int:
    # As large as the rest together, and not needed by a service that runs.
    from monitor.cli.output import describe_error, print_error

    described = describe_error(error)
    print_error(described)
    return described.exit_code


if __name__ == "__main__":
    sys.exit(main())
