"""`monitor probe` where its data cannot be kept: a full disk, a directory that is none, a damaged database."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from monitor.store import RunStatus
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import ScriptedServer
from tests.installation import Installation, Ran, assert_says_nothing_private

# What the write-ahead log holds after a few batches of samples, and before the last.
LOG_IN_MID_RUN = 180_000


def full_beyond(size: int) -> Callable[[], None]:
    """For the new process: no file grows beyond `size` bytes. Writing fails as it does on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def assert_unusable(ran: Ran, *says: str, remedy: str) -> None:
    assert (ran.code, ran.err) == (6, "")
    error = ran.document["error"]
    assert (error["code"], error["exit_code"]) == ("database_unavailable", 6)
    assert [part for part in says if part not in error["message"]] == []
    assert remedy in error["remedy"]
    assert_says_nothing_private(ran)


def test_a_disk_without_room_for_the_seed(installation: Installation) -> None:
    with ScriptedServer(Lawful()) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json", before=full_beyond(0))

    assert_unusable(ran, str(installation.data), "the seed", remedy="Free some space")
    assert server.received == []
    assert list(installation.data.iterdir()) == []


def test_a_disk_without_room_for_the_tables(installation: Installation) -> None:
    with ScriptedServer(Lawful()) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json", before=full_beyond(8192))

    assert_unusable(ran, str(installation.database), "refuses to grow the file", remedy="Free some space")
    assert server.received == []
    assert (installation.runs(), installation.baselines()) == ([], [])


def test_a_disk_that_fills_up_during_a_run(installation: Installation) -> None:
    installation.data.mkdir()
    installation.store().close()
    full = full_beyond(LOG_IN_MID_RUN)
    with ScriptedServer(Lawful()) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json", "--probe", "logprobs", before=full)
        runs, baselines = installation.runs(), installation.baselines()
        stored = [len(installation.exchanges(run.id)) for run in runs]
        later = installation.probe("--json", "--probe", "logprobs")

    assert_unusable(ran, str(installation.database), "refuses to grow the file", remedy="Free some space")
    assert [run.status for run in runs] == [RunStatus.FAILED]
    assert stored == [runs[0].n_ok]
    assert stored[0] < 40
    assert baselines == []
    assert (later.code, later.document["enrolled"]) == (0, True)


def test_a_data_directory_that_is_a_file(installation: Installation) -> None:
    installation.data.write_text("not a directory")
    with ScriptedServer(Lawful()) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json")

    assert_unusable(ran, str(installation.data), remedy="set MONITOR_DATA_DIR to another directory")
    assert server.received == []
    assert installation.data.read_text() == "not a directory"


def overwritten(path: Path) -> None:
    path.write_bytes(b"These are notes, and no database." * 100)


def damaged(path: Path) -> None:
    """The first page stands, the others are noise."""
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


@pytest.mark.parametrize(("spoil", "says"), [(overwritten, "is not a database"), (damaged, "is damaged")])
def test_a_database_that_cannot_be_read(installation: Installation, spoil: Callable[[Path], None], says: str) -> None:
    installation.data.mkdir()
    installation.store().close()
    spoil(installation.database)
    before = installation.database.read_bytes()
    with ScriptedServer(Lawful()) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json")

    assert_unusable(ran, f"{installation.database} {says}", remedy="restore a backup")
    assert server.received == []
    assert installation.database.read_bytes() == before
