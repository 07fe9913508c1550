"""`monitor db`: upgrade, check, backup, restore, prune and stats."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from monitor.datadir import DataDir
from monitor.service.lock import held
from monitor.store import Store
from monitor.store.schema import CURRENT
from tests.monitor.cli.commands import Monitor
from tests.monitor.store.material import AT, finished_run, identity


@pytest.fixture
def filled(data_dir: Path) -> Path:
    """The data directory with one run in its database."""
    data = DataDir(data_dir)
    data.seed()
    with Store.open(data.database_path, at=AT) as store:
        finished_run(store, store.ensure_endpoint(identity(), at=AT).id)
    return data_dir


@pytest.mark.parametrize("command", [["check"], ["backup", "there"], ["prune"], ["stats"]])
def test_without_a_database_there_is_nothing_to_do_and_none_is_made(
    monitor: Monitor, data_dir: Path, command: list[str]
) -> None:
    ran = monitor("db", *command)
    assert ran.code == 2
    assert "There is no database" in ran.err
    assert not data_dir.exists()


def test_upgrade_makes_it_and_is_safe_to_repeat(monitor: Monitor, data_dir: Path) -> None:
    assert monitor("db", "upgrade", "--json").document["before"] is None
    assert monitor("db", "upgrade", "--json").document == {
        "schema": "monitor.db_upgrade/1",
        "before": CURRENT.revision,
        "after": CURRENT.revision,
    }


def test_upgrade_fills_an_empty_server(monitor: Monitor, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_DATABASE_URL", postgres_url)
    assert "is empty" in monitor("db", "check").err

    assert monitor("db", "upgrade").code == 0

    checked = monitor("db", "check", "--json").document
    assert (checked["ok"], checked["revision"]) == (True, CURRENT.revision)
    assert monitor("db", "stats", "--json").document["tables"]["run"]["bytes"] > 0


def test_check_counts_the_rows_of_a_sound_file(monitor: Monitor, filled: Path) -> None:
    ran = monitor("db", "check", "--json")
    assert ran.code == 0
    assert ran.document["rows"]["run"] == 1
    assert ran.document["complaints"] == []


def test_check_finds_a_damaged_file(monitor: Monitor, filled: Path) -> None:
    file = filled / "monitor.db"
    content = bytearray(file.read_bytes())
    content[-4096 * 3 :] = b"\xff" * 4096 * 3
    file.write_bytes(content)

    assert monitor("db", "check").code == 6


def test_stats_names_every_table_with_its_size(monitor: Monitor, filled: Path) -> None:
    document = monitor("db", "stats", "--json").document
    assert document["tables"]["observation"]["rows"] == 3
    assert document["bytes"] == (filled / "monitor.db").stat().st_size


def test_a_backup_is_restored(monitor: Monitor, filled: Path, folder: Path) -> None:
    made = monitor("db", "backup", "there", "--json").document
    assert made["rows"]["run"] == 1
    (filled / "seed").unlink()

    restored = monitor("db", "restore", "there", "--json").document

    assert restored["sha256"] == made["sha256"]
    assert (filled / "seed").exists()


def test_nothing_is_restored_under_a_running_service(monitor: Monitor, filled: Path) -> None:
    monitor("db", "backup", "there")
    with held(DataDir(filled)):
        ran = monitor("db", "restore", "there")
    assert ran.code == 2
    assert "error[already_running]" in ran.err


def test_prune_deletes_what_is_kept_no_longer(monitor: Monitor, filled: Path) -> None:
    long_ago = AT - timedelta(days=1000)
    with Store.open(filled / "monitor.db", at=AT) as store:
        finished_run(store, store.ensure_endpoint(identity(), at=AT).id, long_ago)

    assert monitor("db", "prune", "--json").document["deleted"] >= 1

    rows = monitor("db", "check", "--json").document["rows"]
    assert (rows["evidence"], rows["metric_point"]) == (2, 1)
