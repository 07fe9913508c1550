from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from monitor.errors import StorageError, UsageError
from monitor.store import RunResult, RunStatus, Store
from tests.monitor.store.material import AT, finished_run, identity, later, observation, result, sample, start
from tests.servers import SQLITE

ROOT = Path(__file__).parents[3]


def refusal(path: Path | str) -> str:
    with pytest.raises(StorageError) as raised:
        Store.open(path, at=AT)
    assert raised.value.exit_code == 6
    return str(raised.value)


def test_a_file_that_is_no_database_is_named_and_left_alone(path: Path) -> None:
    path.write_text("shopping list: bread, milk\n" * 100)

    message = refusal(path)

    assert message.startswith(f"The database {path} is not a database (SQLITE_NOTADB). Move it away and restore")
    assert path.read_text() == "shopping list: bread, milk\n" * 100


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmark (url TEXT)")

    assert "belongs to another program" in refusal(path)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmark",)]


def test_a_database_cut_short_is_damaged(path: Path) -> None:
    with Store.open(path, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        for number in range(20):
            finished_run(store, endpoint.id, later(number))
    os.truncate(path, path.stat().st_size // 3)

    assert "is damaged (SQLITE_CORRUPT). Move it away and restore a backup" in refusal(path)


def test_a_directory_in_its_place_cannot_be_opened(path: Path) -> None:
    path.mkdir()

    assert f"The database {path} cannot be opened (SQLITE_CANTOPEN)." in refusal(path)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "monitor.db"

    assert refusal(path).startswith(f"The database {path} cannot be used: {path}: No such file or directory.")


def test_a_database_in_memory_is_refused() -> None:
    with pytest.raises(UsageError, match="in memory keeps nothing"):
        Store.open("sqlite://", at=AT)


def test_another_kind_of_database_is_refused_without_its_password() -> None:
    with pytest.raises(UsageError, match="kind mysql are not supported") as raised:
        Store.open("mysql://root:hunter2@localhost/monitor", at=AT)

    assert "hunter2" not in str(raised.value)


def test_a_read_only_database_can_be_read_and_says_so_when_written(path: Path) -> None:
    with Store.open(path, at=AT) as store:
        store.ensure_endpoint(identity(), at=AT)

    with Store.open(f"sqlite:///file:{path}?mode=ro&uri=true", at=AT) as store:
        assert store.providers() == ["acme"]
        with pytest.raises(StorageError, match=f"The database {path} cannot be written: it is read-only"):
            store.ensure_endpoint(identity("other"), at=AT)


@SQLITE
def test_a_lock_held_beyond_the_timeout_is_told_and_its_end_is_waited_for(path: Path, store: Store) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(StorageError, match=f"The database {path} is locked: another process has been writing"):
            store.ensure_endpoint(identity(), at=AT)

        other.execute("ROLLBACK")
        assert store.ensure_endpoint(identity(), at=AT).provider == "acme"


@contextmanager
def on_connect(statement: str) -> Iterator[None]:
    """Run `statement` on each new connection, after the settings of the store."""

    def run(connection: Any, _record: object) -> None:
        connection.execute(statement)

    event.listen(Engine, "connect", run)
    try:
        yield
    finally:
        event.remove(Engine, "connect", run)


def test_a_full_database_keeps_what_was_whole_and_nothing_else(path: Path) -> None:
    with Store.open(path, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        run_id = store.begin_run(start(endpoint.id), at=AT)
    with closing(sqlite3.connect(path)) as counting:
        (pages,) = counting.execute("PRAGMA page_count").fetchone()

    with on_connect(f"PRAGMA max_page_count = {pages + 4}"), Store.open(path, at=AT) as store:
        samples = [sample(f"{number}", body=os.urandom(2000)) for number in range(50)]
        with pytest.raises(StorageError, match=r"cannot grow: the disk is full \(SQLITE_FULL\)"):
            store.add_samples(run_id, samples, at=AT)

    with Store.open(path, at=AT) as store:
        assert store.exchanges(run_id) == []
        store.add_samples(run_id, samples, at=AT)
        assert len(store.exchanges(run_id)) == 50


def refusal_to_finish(store: Store, run_id: str, large: RunResult) -> str:
    with pytest.raises(StorageError) as raised:
        store.finish_run(run_id, large, at=AT)
    return str(raised.value)


@SQLITE
def test_a_run_that_cannot_be_finished_for_want_of_space_still_runs(path: Path, store: Store) -> None:
    endpoint = store.ensure_endpoint(identity(), at=AT)
    run_id = store.begin_run(start(endpoint.id), at=AT)
    large = replace(result(), observations=[observation(f"{number}") for number in range(2000)])
    with closing(sqlite3.connect(path)) as counting:
        (pages,) = counting.execute("PRAGMA page_count").fetchone()

    with on_connect(f"PRAGMA max_page_count = {pages}"), Store.open(path, at=AT) as full:
        assert refusal_to_finish(full, run_id, large).startswith(f"The database {path} cannot grow: the disk is full")

    assert store.run(run_id).status is RunStatus.RUNNING
    assert store.observations(run_id).observations == ()
    assert store.evidence(run_id) == ()
    store.finish_run(run_id, large, at=AT)
    assert len(store.observations(run_id).observations) == 2000


def test_a_disk_that_refuses_to_grow_a_file_gives_one_clear_error_and_no_partial_rows(path: Path) -> None:
    """As on a full file system, by the kernel's limit of the file size; every batch is there whole or not at all."""
    writer = [sys.executable, "-m", "tests.monitor.store.writers", "fill_the_disk", str(path), "2000000"]

    ended = subprocess.run(writer, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 3, ended.stderr
    batches, message = ended.stdout.strip().split("\n")
    assert message.startswith(f"The database {path} cannot ")
    assert "Free some space, or set MONITOR_DATA_DIR" in message
    with Store.open(path, at=AT) as store:
        (check,) = store.history()
        assert int(batches) > 0
        assert len(store.exchanges(check.runs[0].run.id)) == 50 * int(batches)
