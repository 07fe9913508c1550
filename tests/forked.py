"""Processes that are forked off one which has imported `monitor`: most of a short process's time is its imports."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from monitor.cli import main

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["alembic.command", "monitor.cli.probe", "monitor.worker.tick", "pytest", "tests.forked"])


def run_forked(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], *, hangs_after_s: float
) -> tuple[int, str, str]:
    """`monitor` with these words, in this environment alone: its exit code, and what is on stdout and on stderr."""
    with tempfile.TemporaryDirectory() as said:
        files = [Path(said, "out"), Path(said, "err")]
        process = FORKED.Process(target=_run, args=(list(words), folder, dict(environment), files))
        process.start()
        process.join(hangs_after_s)
        code = process.exitcode
        process.kill()
        out, err = (file.read_text(encoding="utf-8") for file in files)
    assert code is not None, f"hangs: {words} {out} {err}"
    return code, out, err


def _run(words: list[str], folder: Path, environment: dict[str, str], files: list[Path]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for stream, file in zip((sys.stdout, sys.stderr), files, strict=True):
        with file.open("wb") as opened:
            os.dup2(opened.fileno(), stream.fileno())
    sys.exit(main(words))
