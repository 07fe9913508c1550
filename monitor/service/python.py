"""How the service's own programs are started: by the same Python, with its options, from the same places."""

from __future__ import annotations

import os
import subprocess
import sys


def python(module: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module of ours as this process runs.

    `python -m` looks into the working directory first, where a file may have the name of any module: only where this
    process was started so itself does the new one.
    """
    options: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    safe = [] if sys.flags.safe_path or sys.path[0] in ("", os.getcwd()) else ["-P"]  # noqa: PTH109 - text, as there
    return (sys.executable, *options, *safe, "-m", module, *arguments)
