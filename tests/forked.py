"""Runs `monitor` in a process of its own that is forked off one which has imported it: most of a short command's time
is its imports."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from monitor.cli import main

_COMMANDS = multiprocessing.get_context("forkserver")
_COMMANDS.set_forkserver_preload(["monitor.cli.probe", "alembic.command", "tests.forked"])


def run_forked(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], *, hangs_after_s: float
) -> tuple[int, str, str]:
    """`monitor` with these words, in this environment alone: its exit code, and what is on stdout and on stderr."""
    with tempfile.TemporaryDirectory() as said:
        files = [Path(said, "out"), Path(said, "err")]
        process = _COMMANDS.Process(target=_run, args=(list(words), folder, dict(environment), files))
        process.start()
        process.join(hangs_after_s)
        hangs = process.exitcode is None
        process.kill()
        out, err = (file.read_text(encoding="utf-8") for file in files)
    assert not hangs, f"hangs: {words} {out} {err}"
    return process.exitcode, out, err


def _run(words: list[str], folder: Path, environment: dict[str, str], files: list[Path]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for stream, file in zip((sys.stdout, sys.stderr), files, strict=True):
        with file.open("wb") as opened:
            os.dup2(opened.fileno(), stream.fileno())
    sys.exit(main(words))
