from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import migrations
from monitor.errors import SchemaVersionError, StorageError
from monitor.store import Store
from monitor.store.database import Database
from monitor.store.schema import CURRENT, Schema, prepare
from tests.monitor.store.material import AT, finished_run, identity, sample, start

ROOT = Path(__file__).parents[3]

NEXT_REVISION = f"{int(CURRENT.revision[:4]) + 1:04}"
NEXT = '''
"""A next revision."""

import os
import signal

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"


def upgrade():
    with op.batch_alter_table("run") as batch:
        batch.add_column(sa.Column("note", sa.Text()))
    {then}


def downgrade():
    with op.batch_alter_table("run") as batch:
        batch.drop_column("note")
'''


def next_schema(folder: Path, then: str = "pass") -> Schema:
    """This program's migrations and one more, as a later release would have them."""
    scripts = folder / "scripts"
    shutil.copytree(Path(str(migrations.__file__)).parent, scripts, dirs_exist_ok=True)
    text = NEXT.format(then=then, revision=NEXT_REVISION, before=CURRENT.revision)
    (scripts / "versions" / f"{NEXT_REVISION}_next.py").write_text(text)
    return Schema(NEXT_REVISION, str(scripts))


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def filled(path: Path) -> Path:
    """A database of the present schema with rows in it, closed."""
    with Store.open(path, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        run_id = store.begin_run(start(endpoint.id), at=AT)
        store.add_samples(run_id, [sample("a"), sample("b")], at=AT)
        finished_run(store, endpoint.id)
    return path


def test_a_new_database_is_private_and_gives_back_space(path: Path) -> None:
    with Store.open(path, at=AT):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.with_name("monitor.db-wal").stat().st_mode) == 0o600
        assert rows(path, "SELECT version_num FROM alembic_version") == [(CURRENT.revision,)]
        assert rows(path, "PRAGMA auto_vacuum") == [(2,)]


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()

    with Store.open(path, at=AT) as store:
        assert store.providers() == []


def test_a_newer_schema_is_refused_and_both_revisions_are_named(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0042'")

    with pytest.raises(SchemaVersionError) as raised:
        Store.open(filled, at=AT)

    assert str(raised.value).startswith(
        f"The database {filled} has schema 0042; this program knows schemas up to {CURRENT.revision}. "
        "Upgrade the program (`pip install --upgrade endpoint-monitor`)"
    )
    assert raised.value.exit_code == 6
    assert list(filled.parent.glob("*.bak")) == []


def test_an_older_schema_is_upgraded_after_a_backup(filled: Path, tmp_path: Path) -> None:
    prepare(Database.named(filled), AT, next_schema(tmp_path))

    assert rows(filled, "SELECT version_num FROM alembic_version") == [(NEXT_REVISION,)]
    assert rows(filled, "SELECT count(*), count(note) FROM run") == [(2, 0)]
    assert rows(filled, "SELECT count(*) FROM sample") == [(2,)]
    (backup,) = filled.parent.glob("*.bak")
    assert backup.name == f"monitor.db.{CURRENT.revision}.20261129T120000.000000Z.bak"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with Store.open(backup, at=AT) as store:
        assert len(store.history()) == 2


def test_a_backup_in_use_again_has_a_write_ahead_log(filled: Path, tmp_path: Path) -> None:
    prepare(Database.named(filled), AT, next_schema(tmp_path))
    (backup,) = filled.parent.glob("*.bak")
    assert rows(backup, "PRAGMA journal_mode") == [("delete",)]

    Store.open(backup, at=AT).close()

    assert rows(backup, "PRAGMA journal_mode") == [("wal",)]


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(filled: Path, tmp_path: Path) -> None:
    broken = next_schema(tmp_path, then="op.execute('INSERT INTO nowhere VALUES (1)')")

    with pytest.raises(StorageError, match="no such table: nowhere"):
        prepare(Database.named(filled), AT, broken)

    with Store.open(filled, at=AT) as store:
        assert len(store.history()) == 2


def test_an_upgrade_that_loses_a_parent_is_undone(filled: Path, tmp_path: Path) -> None:
    careless = next_schema(tmp_path, then="op.execute('DELETE FROM endpoint')")

    with pytest.raises(StorageError, match=r"was undone: \d+ rows lost their parent"):
        prepare(Database.named(filled), AT, careless)

    with Store.open(filled, at=AT) as store:
        assert len(store.history()) == 2


def test_an_upgrade_killed_half_way_is_undone_and_done_at_the_next_start(filled: Path, tmp_path: Path) -> None:
    deadly = next_schema(tmp_path, then="os.kill(os.getpid(), signal.SIGKILL)")
    upgrade = (
        "import sys; from datetime import UTC, datetime; from monitor.store.database import Database;"
        "from monitor.store.schema import Schema, prepare;"
        "prepare(Database.named(sys.argv[1]), datetime.now(UTC), Schema(sys.argv[2], sys.argv[3]))"
    )

    command = [sys.executable, "-c", upgrade, str(filled), deadly.revision, deadly.scripts]
    ended = subprocess.run(command, cwd=ROOT, check=False)

    assert ended.returncode == -9
    assert rows(filled, "SELECT version_num FROM alembic_version") == [(CURRENT.revision,)]
    prepare(Database.named(filled), AT, next_schema(tmp_path))
    assert rows(filled, "SELECT version_num FROM alembic_version") == [(NEXT_REVISION,)]
    assert rows(filled, "SELECT count(*) FROM run") == [(2,)]
    assert rows(filled, "PRAGMA integrity_check") == [("ok",)]
