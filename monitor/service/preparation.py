"""Has the service made ready, in a process of its own: what that takes stays out of the one that keeps the children."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass

from monitor.errors import ServiceFailedError
from monitor.service.python import python
from monitor.service.tether import tether


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `monitor.service.prepare` found: `set_up_token` is None once there is a user; `notes` are for whoever starts
    the service."""

    set_up_token: str | None
    notes: tuple[str, ...]


class NotPreparedError(Exception):
    """What is wrong, that process has told itself; its exit code is to be this one's too."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code


def prepared(host: str) -> Prepared:
    """Bring database and configuration up to date. Raises NotPreparedError, and ServiceFailedError where the process
    could not even be asked."""
    try:
        ran = subprocess.run(  # noqa: S603 - our own program
            python("monitor.service.prepare", host), stdout=subprocess.PIPE, preexec_fn=tether(), check=False
        )
        if ran.returncode != 0:
            raise NotPreparedError(ran.returncode)
        document = json.loads(ran.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ServiceFailedError(
            f"The database and the configuration could not be looked at: {error}.",
            remedy="Does this machine have memory, processes and open files left?",
        ) from error
    return Prepared(document["set_up_token"], tuple(document["notes"]))
