"""One service per data directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.datadir import DataDir
from monitor.errors import AlreadyRunningError, StorageError
from monitor.service.lock import HeldLock, Running, held, running

HOLDER = """
import sys, time
from pathlib import Path
from monitor.datadir import DataDir
from monitor.service.lock import held
with held(DataDir(Path(sys.argv[1]))):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_one_is_refused_and_told_whose_it_is(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    with held(data) as lock:
        lock.tell(Running(os.getpid(), "http://127.0.0.1:8080"))
        with (
            pytest.raises(AlreadyRunningError, match=rf"process {os.getpid()} \(http://127\.0\.0\.1:8080\)"),
            held(data),
        ):
            pass
        assert running(data) == Running(os.getpid(), "http://127.0.0.1:8080")

    assert running(data) is None
    with held(data):
        pass


def test_nothing_runs_where_nothing_ever_was(tmp_path: Path) -> None:
    assert running(DataDir(tmp_path / "data")) is None
    assert not (tmp_path / "data").exists()


def test_the_note_is_private(tmp_path: Path) -> None:
    with held(DataDir(tmp_path / "data")):
        assert (tmp_path / "data" / "lock").stat().st_mode & 0o777 == 0o600


def test_a_killed_holder_leaves_it_free(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, data.path], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"

    with pytest.raises(AlreadyRunningError, match=f"process {holder.pid}"), held(data):
        pass
    holder.kill()
    holder.wait()

    with held(data):
        pass


@pytest.mark.parametrize("what", ["folder", "loop"])
def test_a_lock_that_cannot_be_opened_is_a_storage_error(tmp_path: Path, what: str) -> None:
    lock = tmp_path / "lock"
    lock.mkdir() if what == "folder" else lock.symlink_to(lock)

    with (
        pytest.raises(StorageError, match=f"Cannot lock the data directory {tmp_path}: {lock}: "),
        held(DataDir(tmp_path)),
    ):
        pass
    assert running(DataDir(tmp_path)) is None


def test_a_note_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    descriptor = os.open(tmp_path / "lock", os.O_RDONLY)
    with pytest.raises(StorageError, match="The lock of the data directory cannot be written"):
        HeldLock(descriptor).tell(Running(1))
    os.close(descriptor)
