"""Runs a Python program that nobody trusts, as a program of its own: no import but the standard library's.

Started by `sandbox.py` with the job as JSON on standard input and a pipe to report to. Four processes, each the parent
of the next: this one, which writes the maps of user ids; one that makes the namespaces; the first process of the new
process namespace, whose end is the end of all in it; and the program. Every step has to succeed, or nothing is run.

What holds the program: namespaces for users, network (no device is up), mounts (a root with read-only libraries and
one small writable folder), processes, IPC and host name; no capability and no way to new ones; limits on time, memory,
files and processes; and a filter of system calls for what namespaces and limits leave open.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

NEW_USER = 0x10000000
# Mounts, host name, IPC, processes, network.
NEW_REST = 0x00020000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000

MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
ATTR_READ_ONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_FILTER = 2
MOUNT_SETATTR = 442

# The user in the sandbox, and outside of it too where the service itself is root.
NOBODY = 65534
# Every machine has this folder, and no library lives below it.
STAGE = "/sys"
BOX = "/box"
PROGRAM = f"{BOX}/program.py"
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")

# What gives memory that no limit counts, reaches other processes or the kernel's odd corners, or opens a socket.
# socket ptrace syslog personality pivot_root acct mount umount2 swapon swapoff reboot sethostname setdomainname
# init_module delete_module quotactl add_key request_key keyctl unshare shmget shmctl shmat semget msgget mq_open
# perf_event_open fanotify_init name_to_handle_at open_by_handle_at setns process_vm_readv process_vm_writev kcmp
# finit_module memfd_create kexec_load kexec_file_load bpf userfaultfd chroot
X86_64 = (
    *(41, 101, 103, 135, 155, 163, 165, 166, 167, 168, 169, 170, 171),
    *(175, 176, 179, 248, 249, 250, 272, 29, 31, 30, 64, 68, 240),
    *(298, 300, 303, 304, 308, 310, 311, 312),
    *(313, 319, 246, 320, 321, 323, 161),
)
AARCH64 = (
    *(198, 117, 116, 92, 41, 89, 40, 39, 224, 225, 142, 161, 162),
    *(105, 106, 60, 217, 218, 219, 97, 194, 195, 196, 190, 186, 180),
    *(241, 262, 264, 265, 268, 270, 271, 272),
    *(273, 279, 104, 294, 280, 282, 51),
)
# io_uring (3), open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_open, pidfd_getfd, mount_setattr,
# memfd_secret: one number on all machines.
EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, MOUNT_SETATTR, 447)
CLONE3 = 435
# By machine: the audit architecture, what is refused, clone and pivot_root.
MACHINES = {"x86_64": (0xC000003E, X86_64, 56, 155), "aarch64": (0xC00000B7, AARCH64, 220, 41)}
NEW_NAMESPACES = 0x7E020000

LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    report = int(sys.argv[1])
    os.set_inheritable(report, False)
    try:
        job = json.load(sys.stdin)
        if platform.machine() not in MACHINES:
            raise OSError(errno.ENOSYS, f"no filter of system calls for {platform.machine()}")
        _write_maps_for_child(report, job)
    except BaseException as error:  # noqa: BLE001 - it is reported
        _give_up(report, error)


def _write_maps_for_child(report: int, job: dict[str, Any]) -> None:
    made, has_made = os.pipe()
    mapped, has_mapped = os.pipe()
    child = os.fork()
    if child == 0:
        _guard(report, lambda: _make_namespaces(report, job, has_made, mapped))
    os.close(has_made)
    if os.read(made, 1):
        user, group = os.getuid(), os.getgid()
        both = f"0 0 1\n{NOBODY} {NOBODY} 1"
        if user != 0:
            _write(f"/proc/{child}/setgroups", "deny")
        _write(f"/proc/{child}/uid_map", both if user == 0 else f"{NOBODY} {user} 1")
        _write(f"/proc/{child}/gid_map", both if user == 0 else f"{NOBODY} {group} 1")
        os.write(has_mapped, b"m")
    os.waitpid(child, 0)


def _make_namespaces(report: int, job: dict[str, Any], has_made: int, mapped: int) -> None:
    _die_with_parent()
    _check(LIBC.unshare(NEW_USER), "unshare user")
    os.write(has_made, b"m")
    os.close(has_made)
    if not os.read(mapped, 1):
        raise OSError(errno.EPERM, "no user ids")
    _check(LIBC.unshare(NEW_REST), "unshare")
    first = os.fork()
    if first == 0:
        _guard(report, lambda: _be_first(report, job))
    os.waitpid(first, 0)


def _be_first(report: int, job: dict[str, Any]) -> None:
    """The first process of its namespace: builds the root, starts the program, and takes all down with its own end."""
    _die_with_parent()
    os.umask(0o022)
    _check(LIBC.sethostname(b"sandbox", 7), "sethostname")
    _build_root(job)
    _check(LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
    program = os.fork()
    if program == 0:
        _guard(report, lambda: _become_program(job))
    while True:
        ended, status = os.wait()
        if ended == program:
            os.write(report, json.dumps({"status": status}).encode())
            os._exit(0)


def _build_root(job: dict[str, Any]) -> None:
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    sources = {path: os.open(path, os.O_PATH) for path in (*_trees(job["trees"]), *DEVICES)}
    _mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,nr_inodes=256,mode=0755")
    for path, source in sources.items():
        _bind(source, path)
    for path in LIBRARIES:
        if Path(path).is_symlink():
            Path(f"{STAGE}{path}").symlink_to(Path(path).readlink())
    for folder in (BOX, "/outside"):
        Path(f"{STAGE}{folder}").mkdir()
    size = f"size={job['files_bytes']},nr_inodes=256,mode=0700,uid={NOBODY},gid={NOBODY}"
    _mount("tmpfs", f"{STAGE}{BOX}", "tmpfs", MS_NOSUID | MS_NODEV, size)
    _write(f"{STAGE}{PROGRAM}", job["program"], os.O_CREAT | os.O_EXCL)
    pivot_root = MACHINES[platform.machine()][3]
    _check(LIBC.syscall(pivot_root, STAGE.encode(), f"{STAGE}/outside".encode()), "pivot_root")
    os.chdir("/")
    _check(LIBC.umount2(b"/outside", MNT_DETACH), "umount")
    Path("/outside").rmdir()
    _set_attributes("/", ATTR_READ_ONLY | ATTR_NOSUID, 0)
    os.chdir(BOX)
    for source in sources.values():
        os.close(source)


def _trees(wanted: list[str]) -> list[str]:
    """The files and folders to show, none of them within another one or a link: a link's target is shown for it."""
    present = sorted({str(Path(path).resolve()) for path in (*LIBRARIES, *wanted) if Path(path).exists()})
    return [path for path in present if not any(path.startswith(f"{other}/") for other in present)]


def _bind(source: int, path: str) -> None:
    origin, target = Path(f"/proc/self/fd/{source}"), Path(f"{STAGE}{path}")
    if origin.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(exist_ok=False)
    _mount(str(origin), str(target), None, MS_BIND | MS_REC)
    if path not in DEVICES:
        _set_attributes(str(target), ATTR_READ_ONLY | ATTR_NOSUID | ATTR_NODEV, AT_RECURSIVE)


def _become_program(job: dict[str, Any]) -> None:
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(1, 2)
    _limit(job)
    if os.getuid() != NOBODY:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    _check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _filter_system_calls()
    # Capabilities end here: the user is not root, in the namespace or outside.
    environment = {"PATH": "", "HOME": BOX, "TMPDIR": BOX, "LANG": "C.UTF-8"}
    os.execve(job["python"], [job["python"], "-I", "-S", "-B", PROGRAM], environment)  # noqa: S606 - the purpose


def _limit(job: dict[str, Any]) -> None:
    seconds = job["cpu_s"]
    # The other two processes of this user within the namespace count as well, where the service is not root.
    others = 0 if os.getuid() != NOBODY else 2
    for which, soft, hard in (
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_AS, job["memory_bytes"], job["memory_bytes"]),
        (resource.RLIMIT_NPROC, job["processes"] + others, job["processes"] + others),
        (resource.RLIMIT_NOFILE, job["open_files"], job["open_files"]),
        (resource.RLIMIT_FSIZE, job["files_bytes"], job["files_bytes"]),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ):
        resource.setrlimit(which, (soft, hard))


def _filter_system_calls() -> None:
    architecture, refused, clone, _ = MACHINES[platform.machine()]
    program = _filter_program(architecture, (*refused, *EVERYWHERE), clone)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(buffer))
    _check(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_FILTER, ctypes.c_char_p(header), 0, 0), "seccomp")


def _filter_program(architecture: int, refused: tuple[int, ...], clone: int) -> bytes:
    """Classic BPF over struct seccomp_data: the call's number at 0, the architecture at 4, the first argument at 16."""
    load, equal, at_least, any_bit, back = 0x20, 0x15, 0x35, 0x45, 0x06
    kill, allow, fail = 0x80000000, 0x7FFF0000, 0x00050000
    steps = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (back, 0, 0, kill),
        (load, 0, 0, 0),
        # x86_64's second set of numbers for the same calls.
        (at_least, 0, 1, 0x40000000),
        (back, 0, 0, kill),
    ]
    for number in refused:
        steps += [(equal, 0, 1, number), (back, 0, 0, fail | errno.EPERM)]
    # Its flags are behind a pointer, where no filter can look; libraries fall back to clone.
    steps += [(equal, 0, 1, CLONE3), (back, 0, 0, fail | errno.ENOSYS)]
    steps += [(equal, 0, 3, clone), (load, 0, 0, 16), (any_bit, 0, 1, NEW_NAMESPACES), (back, 0, 0, fail | errno.EPERM)]
    steps.append((back, 0, 0, allow))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    _check(LIBC.mount(*words, ctypes.c_ulong(flags), None if data is None else data.encode()), f"mount {target}")


def _set_attributes(path: str, attributes: int, flags: int) -> None:
    request = struct.pack("QQQQ", attributes, 0, 0, 0)
    done = LIBC.syscall(MOUNT_SETATTR, AT_FDCWD, path.encode(), flags, ctypes.c_char_p(request), len(request))
    _check(done, f"mount_setattr {path}")


def _die_with_parent() -> None:
    parent = os.getppid()
    _check(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        os._exit(1)


def _check(result: int, step: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{step}: {os.strerror(number)}")


def _write(path: str, text: str, flags: int = 0) -> None:
    descriptor = os.open(path, os.O_WRONLY | flags, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "surrogatepass"))


def _guard(report: int, steps: Any) -> NoReturn:
    """What a forked process does and nothing more, whatever happens in it."""
    try:
        steps()
    except BaseException as error:  # noqa: BLE001 - it is reported
        _give_up(report, error)
    os._exit(0)


def _give_up(report: int, error: BaseException) -> NoReturn:
    reason = error.strerror if isinstance(error, OSError) else type(error).__name__
    os.write(report, json.dumps({"failed": reason}).encode())
    os._exit(1)


if __name__ == "__main__":
    main()
