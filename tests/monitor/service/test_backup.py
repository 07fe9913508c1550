"""A backup that is made while others write, and restored elsewhere."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import pytest

from monitor.datadir import DataDir
from monitor.errors import StorageError, UsageError
from monitor.service.backup import back_up, restore
from monitor.store import Store
from monitor.store.database import Database
from monitor.store.upkeep import Upkeep
from tests.monitor.store.material import AT, canonical, finished_run, identity, later


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    data = DataDir(tmp_path / "here")
    data.seed()
    with Store.open(data.database_path, at=AT) as store:
        finished_run(store, store.ensure_endpoint(identity(), at=AT).id)
    return data


@pytest.fixture
def writer(data: DataDir) -> Iterator[None]:
    """Someone who writes all the time."""
    stop = Event()

    def write() -> None:
        with Store.open(data.database_path, at=AT) as store:
            endpoint = store.ensure_endpoint(identity(), at=AT).id
            for minute in range(100_000):
                if stop.is_set():
                    return
                finished_run(store, endpoint, later(minute))

    thread = Thread(target=write)
    thread.start()
    yield
    stop.set()
    thread.join()


def database(data: DataDir) -> Database:
    return Database.named(data.database_path)


def seen(data: DataDir) -> tuple[dict[str, int], list[str], list[str]]:
    """The rows of every table, what is wrong with the file, and every observation of the first run."""
    with Store.open(data.database_path, at=AT) as store:
        upkeep = Upkeep(store.sessions)
        (*_, first) = store.history(limit=100_000)
        observed = [canonical(one) for one in store.observations(first.runs[0].run.id).observations]
        return upkeep.counts(), upkeep.complaints(), observed


@pytest.mark.usefixtures("writer")
def test_what_is_restored_elsewhere_is_what_was_backed_up_while_others_wrote(data: DataDir, tmp_path: Path) -> None:
    made = back_up(database(data), data, tmp_path / "backup", AT)
    there = DataDir(tmp_path / "there")
    there.create()

    restored = restore(tmp_path / "backup", database(there), there, AT)

    assert restored == made
    rows, complaints, observed = seen(there)
    assert rows == made.rows
    assert complaints == []
    assert observed == seen(data)[2]
    assert there.seed() == data.seed()


def test_a_backup_is_private_and_never_replaces_a_file(data: DataDir, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    back_up(database(data), data, target, AT)

    assert target.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="is there already"):
        back_up(database(data), data, target, AT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "here"]


def test_the_key_to_the_suites_goes_with_them(data: DataDir, tmp_path: Path) -> None:
    key = data.suites_key()
    back_up(database(data), data, tmp_path / "backup.tar", AT)
    there = DataDir(tmp_path / "there")
    there.create()
    restore(tmp_path / "backup.tar", database(there), there, AT)
    assert there.suites_key() == key


def test_what_was_there_before_is_kept(data: DataDir, tmp_path: Path) -> None:
    back_up(database(data), data, tmp_path / "backup", AT)
    with Store.open(data.database_path, at=AT) as store:
        finished_run(store, store.ensure_endpoint(identity(), at=AT).id, later(9))

    restore(tmp_path / "backup", database(data), data, AT)

    assert seen(data)[0]["run"] == 1
    (before,) = data.path.glob("monitor.db.*.bak")
    with Store.open(before, at=AT) as store:
        assert len(store.history()) == 2


def test_the_database_may_be_on_another_disk_than_the_keys(data: DataDir, tmp_path: Path) -> None:
    made = back_up(database(data), data, tmp_path / "backup", AT)
    with TemporaryDirectory(dir="/dev/shm") as disk:
        elsewhere = Database.named(f"sqlite:///{disk}/own.db")
        for _ in range(2):
            restore(tmp_path / "backup", elsewhere, data, AT)
        assert sorted(path.name for path in Path(disk).iterdir()) == ["own.db", "own.db.20261129T120000Z.bak"]
        with Store.open(Path(disk, "own.db"), at=AT) as store:
            assert Upkeep(store.sessions).counts() == made.rows


def test_a_database_in_use_is_not_replaced(data: DataDir, tmp_path: Path) -> None:
    back_up(database(data), data, tmp_path / "backup", AT)
    with Store.open(data.database_path, at=AT) as store:
        store.history()
        with pytest.raises(StorageError, match="is in use"):
            restore(tmp_path / "backup", database(data), data, AT)
        assert len(store.history()) == 1


def test_a_damaged_backup_is_refused_and_changes_nothing(data: DataDir, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    back_up(database(data), data, target, AT)
    content = bytearray(target.read_bytes())
    content[len(content) // 2] ^= 1
    target.write_bytes(content)

    with pytest.raises(StorageError, match="is damaged"):
        restore(target, database(data), data, AT)
    assert not list(data.path.glob("*.bak"))


@pytest.mark.parametrize("content", [b"", b"no tar at all", b"\0" * 10_240], ids=["empty", "text", "empty tar"])
def test_another_file_is_no_backup(data: DataDir, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(UsageError, match="is no backup"):
        restore(tmp_path / "other", database(data), data, AT)


def test_an_archive_with_other_files_is_no_backup(data: DataDir, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(
        '{"schema":"monitor.backup/1","made_at":"","revision":"","rows":{},"sha256":{"monitor.db":"","../evil":""}}'
    )
    with tarfile.open(tmp_path / "other", "w") as tar:
        tar.add(manifest, "manifest.json")
        tar.add(manifest, "../evil")

    with pytest.raises(UsageError, match="is no backup"):
        restore(tmp_path / "other", database(data), data, AT)
    assert not (tmp_path / "evil").exists()


def test_a_server_has_its_own_tools(tmp_path: Path) -> None:
    server = Database.named("postgresql://user@host/name")
    with pytest.raises(UsageError, match="pg_dump"):
        back_up(server, DataDir(tmp_path), tmp_path / "backup", AT)
