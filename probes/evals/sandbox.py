"""Runs a program that nobody trusts, isolated, or not at all."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from probes.errors import IsolationError

JAIL = Path(__file__).with_name("jail.py")
_MAX_REPORT_BYTES = 4096
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use. `processes` counts threads too, and `memory_bytes` is each process's own."""

    cpu_s: int = 5
    wall_s: float = 10.0
    memory_bytes: int = 256 * 1024 * 1024
    processes: int = 4
    open_files: int = 32
    files_bytes: int = 8 * 1024 * 1024
    output_bytes: int = 64 * 1024


class Ending(StrEnum):
    EXITED = "exited"
    KILLED = "killed"
    """By a signal: it used too much processor time, say, or crashed."""
    TIMED_OUT = "timed_out"
    TOO_MUCH_OUTPUT = "too_much_output"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended. `code` is its exit code or the signal's number, None where it was ended for its limits;
    `output` is what it printed, its errors among it, up to the limit."""

    ending: Ending
    code: int | None
    output: bytes = field(repr=False)


def run_isolated(program: str, limits: Limits | None = None) -> Ran:
    """Run a Python program of this interpreter's version, with the standard library and nothing else.

    Blocks for `wall_s` and some seconds at most. Raises IsolationError where this machine cannot isolate it: then
    nothing of it was run.
    """
    if sys.platform != "linux":
        raise _cannot("it needs the namespaces of Linux")
    allowed = Limits() if limits is None else limits
    job = json.dumps({**asdict(allowed), "program": program, "python": _interpreter(), "trees": _trees()})
    reading, report = os.pipe()
    try:
        jail = _start(report)
    finally:
        os.close(report)
    with os.fdopen(reading, "rb") as told:
        try:
            ending, output = _watch(jail, job.encode("ascii"), allowed)
        finally:
            _end(jail)
        return _ran(ending, output, told.read(_MAX_REPORT_BYTES))


def isolation_fault() -> str | None:
    """Why no program can be run isolated here; None where it can."""
    try:
        ran = run_isolated("print('isolated')")
    except IsolationError as error:
        return error.message
    return None if (ran.ending, ran.output) == (Ending.EXITED, b"isolated\n") else "a program did not run as it should"


def _start(report: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - this interpreter, and a file of ours
        [sys.executable, "-I", "-S", str(JAIL), str(report)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"LANG": "C.UTF-8"},
        pass_fds=(report,),
        start_new_session=True,
    )


def _watch(jail: subprocess.Popen[bytes], job: bytes, limits: Limits) -> tuple[Ending, bytes]:
    """Give the job and read what comes, until all that could write has ended or a limit is passed."""
    stdin, stdout = _pipes(jail)
    try:
        with stdin:
            stdin.write(job)
    except BrokenPipeError:
        # It could not even begin, and has reported why.
        return Ending.EXITED, b""
    deadline = time.monotonic() + limits.wall_s
    output = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(left):
                break
            piece = os.read(stdout.fileno(), _CHUNK)
            if not piece:
                return Ending.EXITED, bytes(output)
            output += piece
            if len(output) > limits.output_bytes:
                return Ending.TOO_MUCH_OUTPUT, bytes(output[: limits.output_bytes])
    return Ending.TIMED_OUT, bytes(output)


def _end(jail: subprocess.Popen[bytes]) -> None:
    """The jail's own processes are one group, and with the first process of the program's namespace all in it ends."""
    with suppress(ProcessLookupError):
        os.killpg(jail.pid, signal.SIGKILL)
    jail.wait()
    _, stdout = _pipes(jail)
    with stdout:
        # Its end is the end of the last process that could write.
        while os.read(stdout.fileno(), _CHUNK):
            pass


def _pipes(jail: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if jail.stdin is None or jail.stdout is None:
        raise RuntimeError("the jail was started without pipes")
    return jail.stdin, jail.stdout


def _ran(ending: Ending, output: bytes, told: bytes) -> Ran:
    report = _read_report(told)
    if "failed" in report:
        raise _cannot(str(report["failed"]))
    if ending is not Ending.EXITED:
        return Ran(ending, None, output)
    if "status" not in report:
        raise _cannot("the jail ended without a word")
    code = os.waitstatus_to_exitcode(report["status"])
    return Ran(Ending.KILLED, -code, output) if code < 0 else Ran(Ending.EXITED, code, output)


def _read_report(told: bytes) -> dict[str, Any]:
    try:
        report = json.loads(told or b"{}")
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def _interpreter() -> str:
    """The program behind this interpreter's name, outside any virtual environment."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def _trees() -> list[str]:
    """What this interpreter needs of the disk besides the system's libraries."""
    bases = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix, "installed_base": sys.base_prefix}
    standard = [sysconfig.get_path(name, vars=bases) for name in ("stdlib", "platstdlib")]
    library = sysconfig.get_config_var("INSTSONAME")
    folders = [sysconfig.get_config_var("LIBDIR"), f"{sys.base_prefix}/lib"]
    shared = [f"{folder}/{library}" for folder in folders if folder and library]
    return [_interpreter(), *standard, *shared]


def _cannot(reason: str) -> IsolationError:
    return IsolationError(
        f"Code cannot be run isolated on this machine: {reason}.",
        remedy="Allow user namespaces to the user that runs the service, or leave out suites with code.",
    )
