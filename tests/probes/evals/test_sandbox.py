"""The sandbox: what a program may do in it, and that nothing gets out of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from probes.errors import IsolationError
from probes.evals.sandbox import Ending, Limits, Ran, isolation_fault, run_isolated

ROOT = Path(__file__).parents[3]
FAULT = isolation_fault()
isolated = pytest.mark.skipif(FAULT is not None, reason=f"no isolation here: {FAULT}")

REFUSED_USER_NAMESPACES = """
echo 0 > /proc/sys/user/max_user_namespaces
exec "$0" -c '
from probes.errors import IsolationError
from probes.evals.sandbox import run_isolated
try:
    print(run_isolated("print(1)"))
except IsolationError as error:
    print(error.code, error)
'
"""


def ran(program: str, **limits: float) -> Ran:
    return run_isolated(program, Limits(**{"cpu_s": 1, "wall_s": 100.0, **limits}))  # type: ignore[arg-type]


@isolated
def test_a_program_runs_with_the_standard_library_and_a_folder_of_its_own() -> None:
    found = ran("import json, decimal\nopen('x', 'w').write('1')\nprint(json.dumps({'x': open('x').read()}))")
    assert (found.ending, found.code, found.output) == (Ending.EXITED, 0, b'{"x": "1"}\n')


@isolated
def test_its_exit_code_is_told_and_what_it_printed_is_not_in_its_repr() -> None:
    found = ran("import sys\nprint('secret-of-an-answer')\nsys.exit(3)")
    assert (found.ending, found.code) == (Ending.EXITED, 3)
    assert "secret" not in repr(found)


@isolated
def test_it_has_no_network() -> None:
    found = ran(
        "import socket\n"
        "for kind in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):\n"
        "    try:\n        print(socket.socket(kind))\n    except OSError as error:\n        print(error.errno)\n"
    )
    assert found.output == b"1\n" * 4


@isolated
def test_it_sees_no_file_of_the_machine_and_writes_none(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("private")
    places = [str(mine), str(ROOT), "/etc/passwd", "/proc/self/environ", "/sys/kernel", "/dev/shm"]
    found = ran(
        f"import os\nprint([place for place in {places!r} if os.path.exists(place)])\n"
        "for place in ('/x', '/usr/lib/x', '/dev/x', os.__file__):\n"
        "    try:\n        open(place, 'a')\n        print('wrote', place)\n"
        "    except OSError as error:\n        print(error.errno)\n"
        "print(os.environ.get('MONITOR_DATA_DIR'), len(os.environ))"
    )
    lines = found.output.decode().splitlines()
    assert lines[0] == "[]"
    assert set(lines[1:5]) <= {"13", "30"}
    assert lines[5].startswith("None")


@isolated
def test_it_inherits_no_open_file() -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        program = "import os\nfor n in range(3, 32):\n    try:\n        print(n, os.fstat(n))\n    except OSError: pass"
        assert ran(program).output == b""
    finally:
        os.close(reading)
        os.close(writing)


@isolated
@pytest.mark.parametrize("child", ["pass", "import time; time.sleep(60)"], ids=["at-once", "sleeping"])
def test_a_fork_bomb_makes_a_handful_of_processes_and_all_of_them_end(child: str) -> None:
    found = ran(
        "import os, time\nmade = 0\n"
        "while made < 1000:\n    try:\n        pid = os.fork()\n    except OSError:\n        break\n"
        f"    if pid == 0:\n        {child}\n        time.sleep(60)\n    made += 1\n"
        "print(made)\n",
    )
    assert (found.ending, found.output) == (Ending.EXITED, b"3\n")
    assert not processes_of_the_sandbox()


@isolated
def test_a_wild_fork_bomb_ends_with_its_time() -> None:
    found = ran("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", wall_s=0.4)
    assert found.ending in {Ending.KILLED, Ending.TIMED_OUT}
    assert not processes_of_the_sandbox()


@isolated
@pytest.mark.parametrize(
    "program",
    [
        "bytearray(10**9)",
        "hoard = []\nwhile True: hoard.append(bytearray(10**6))",
        "import mmap\nmmap.mmap(-1, 10**9)",
        "import os\nos.memfd_create('x')",
        "import ctypes\nassert ctypes.CDLL(None).shmget(0, 10**9, 0o1600) >= 0",
        "f = open('big', 'wb')\nwhile True: f.write(bytes(10**6))",
        "for n in range(10**6): open(str(n), 'w').close()",
        "import os\nfiles = [open('/dev/null') for _ in range(100)]",
    ],
)
def test_memory_and_files_end_at_their_limits(program: str) -> None:
    found = ran(program)
    assert (found.ending, found.code) == (Ending.EXITED, 1)


@isolated
def test_an_endless_loop_and_an_endless_sleep_end() -> None:
    assert ran("import time\ntime.sleep(1000)", wall_s=0.3).ending is Ending.TIMED_OUT
    stubborn = "import signal\nsignal.signal(24, signal.SIG_IGN)\nwhile True: pass"
    assert ran(stubborn, wall_s=0.5).ending is Ending.TIMED_OUT
    assert ran("while True: pass").ending is Ending.KILLED


@isolated
def test_what_it_prints_is_cut() -> None:
    found = ran("while True: print('x' * 1000)", output_bytes=5000)
    assert (found.ending, len(found.output)) == (Ending.TOO_MUCH_OUTPUT, 5000)


@isolated
@pytest.mark.parametrize(
    "call",
    [
        "libc.unshare(0x10000000)",
        "libc.mount(b'x', b'/box', b'tmpfs', 0, None)",
        "libc.ptrace(16, 1, 0, 0)",
        "libc.setuid(0)",
        "libc.chroot(b'/box')",
        "libc.syscall({'x86_64': 56, 'aarch64': 220}[os.uname().machine], 0x10000011, 0, 0, 0, 0)",
        "libc.syscall(435, b'x', 0)",
        "libc.syscall(425, 8, b'x')",
    ],
)
def test_no_call_leads_to_more_rights(call: str) -> None:
    found = ran(f"import ctypes, os\nlibc = ctypes.CDLL(None)\nprint({call})")
    assert found.output == b"-1\n"


@isolated
def test_the_first_process_outlives_a_program_that_kills_whatever_it_can() -> None:
    found = ran(
        "import os, signal\nfor n in (signal.SIGKILL, signal.SIGTERM):\n    try:\n        os.kill(1, n)\n"
        "    except PermissionError: pass\nprint('still here')"
    )
    assert (found.code, found.output) == (0, b"still here\n")


@isolated
def test_what_a_program_leaves_running_ends_with_it() -> None:
    found = ran("import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nprint('done')")
    assert (found.ending, found.output) == (Ending.EXITED, b"done\n")
    assert not processes_of_the_sandbox()


@isolated
def test_programs_run_beside_each_other() -> None:
    outputs = []
    threads = [threading.Thread(target=lambda n=n: outputs.append(ran(f"print({n})").output)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outputs) == [b"0\n", b"1\n", b"2\n", b"3\n"]


@isolated
def test_without_namespaces_nothing_is_run() -> None:
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", REFUSED_USER_NAMESPACES, sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("isolation_unavailable Code cannot be run isolated on this machine: unshare user"), (
        done.stdout + done.stderr
    )


def test_a_system_without_namespaces_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(IsolationError, match="needs the namespaces of Linux"):
        run_isolated("print(1)")


def processes_of_the_sandbox() -> list[str]:
    """Command lines that name a program of the sandbox, zombies aside."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if "/box/program.py" in line:
            found.append(line)
    return found
