"""A supervisor in a process of its own: `supervised.py FIRST_DELAY NAME:STAGE:SCRIPT …`.

A child whose name begins with `ready-` is ready once there is a file of its name; one without a script has no program.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from monitor.cli.output import describe_error
from monitor.service import restarts
from monitor.service.child import Child, at_once
from monitor.service.relay import prefixed
from monitor.service.supervisor import Supervisor
from reference_engine.errors import CodedError


def child(text: str) -> Child:
    name, stage, script = text.split(":", 2)
    ready = partial(Path(name).exists) if name.startswith("ready-") else at_once
    command = ("sh", "-c", script) if script else ("/no/such/program",)
    return Child(name, command, os.environ, int(stage), ready)


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


restarts.FIRST_DELAY_S = float(sys.argv[1])
supervisor = Supervisor(
    [child(text) for text in sys.argv[2:]], on_hangup=lambda: write("reloaded\n"), form=prefixed, write=write
)
try:
    supervisor.run()
except CodedError as error:
    write(f"{error.code}: {error}\n")
    sys.exit(describe_error(error).exit_code)
