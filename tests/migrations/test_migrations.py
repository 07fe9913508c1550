from __future__ import annotations

import io
import re
import shutil
import sqlite3
from argparse import Namespace
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

import migrations
from monitor.errors import UsageError
from monitor.store import Store
from monitor.store.database import Database
from monitor.store.schema import CURRENT, exclusive, migration
from monitor.store.tables import Table
from tests.monitor.store.material import AT, finished_run, identity, sample, start

MIGRATIONS = Path(str(migrations.__file__)).parent
REVISIONS = [script.revision for script in ScriptDirectory.from_config(CURRENT.alembic_config()).walk_revisions()]


def migrate(path: Path, revision: str) -> None:
    database = Database.named(path)
    config = CURRENT.alembic_config()
    with exclusive(database), migration(database) as connection:
        config.attributes["connection"] = connection
        step = command.downgrade if revision == "base" else command.upgrade
        step(config, revision)


def definitions(path: Path) -> dict[str, str]:
    """The SQL of every table and index, its white space evened out, columns and constraints in a set order."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: re.sub(r"\s+", " ", sql) for name, sql in found if name != "alembic_version"}


def parts(sql: str) -> list[str]:
    return sorted(part.strip(" ()") for part in re.split(r", (?=[A-Z\"a-z_]+ )", sql))


def test_there_is_one_head_and_the_program_knows_it() -> None:
    scripts = ScriptDirectory.from_config(CURRENT.alembic_config())

    assert scripts.get_heads() == [CURRENT.revision]
    assert scripts.get_bases() == [REVISIONS[-1]]


def test_the_migrations_lead_to_the_tables_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "monitor.db"
    migrate(path, "head")

    with create_engine(f"sqlite:///{path}").connect() as connection:
        context = MigrationContext.configure(connection, opts={"target_metadata": Table.metadata})
        assert compare_metadata(context, Table.metadata) == []


def test_they_lead_to_the_same_checks_and_keys_as_well(tmp_path: Path) -> None:
    """Alembic's comparison does not look at CHECKs and partial indexes."""
    migrated, made = tmp_path / "migrated.db", tmp_path / "made.db"
    migrate(migrated, "head")
    engine = create_engine(f"sqlite:///{made}")
    Table.metadata.create_all(engine)
    engine.dispose()

    assert {name: parts(sql) for name, sql in definitions(migrated).items()} == {
        name: parts(sql) for name, sql in definitions(made).items()
    }
    assert "WHERE status = 'active'" in definitions(migrated)["uq_baseline_active"]


def test_down_and_up_again_with_rows_in(tmp_path: Path) -> None:
    path = tmp_path / "monitor.db"
    with Store.open(path, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        run_id = store.begin_run(start(endpoint.id), at=AT)
        store.add_samples(run_id, [sample("a")], at=AT)
        finished_run(store, endpoint.id)
    before = definitions(path)

    migrate(path, "base")
    assert definitions(path) == {}

    with Store.open(path, at=AT) as store:
        assert store.history() == []
    assert definitions(path) == before


def offline_sql(url: str) -> str:
    output = io.StringIO()
    config = Config(output_buffer=output, cmd_opts=Namespace(x=[f"database={url}"]))
    config.set_main_option("script_location", CURRENT.scripts)
    command.upgrade(config, "head", sql=True)
    return output.getvalue()


def test_the_same_migrations_are_written_for_postgresql() -> None:
    sql = offline_sql("postgresql://localhost/monitor")

    assert sql.count("CREATE TABLE") == len(Table.metadata.tables) + 1
    assert "id BIGSERIAL NOT NULL" in sql
    assert "started_at TIMESTAMP WITH TIME ZONE NOT NULL" in sql
    assert "CREATE UNIQUE INDEX uq_baseline_active ON baseline (endpoint_id, probe) WHERE status = 'active'" in sql


def test_a_generated_migration_does_not_lean_on_the_program(tmp_path: Path) -> None:
    """It must say the same for ever, whatever becomes of the program's column types."""
    scripts = tmp_path / "scripts"
    (scripts / "versions").mkdir(parents=True)
    for name in ("env.py", "script.py.mako"):
        shutil.copy(MIGRATIONS / name, scripts)
    config = Config(cmd_opts=Namespace(x=[f"database={tmp_path / 'monitor.db'}"]))
    config.set_main_option("script_location", str(scripts))

    command.revision(config, "All tables", autogenerate=True, rev_id="0001")

    written = (scripts / "versions" / "0001_all_tables.py").read_text()
    assert "monitor" not in written
    assert "sa.Column('capabilities', sa.JSON(), nullable=False)" in written
    assert "sa.Column('adjusted_p', sa.Double(), nullable=True)" in written
    assert "sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True)" in written


def test_the_command_line_needs_a_database() -> None:
    with pytest.raises(UsageError, match="No database is named"):
        command.upgrade(Config(Path(__file__).parents[2] / "alembic.ini"), "head")


def test_the_command_line_upgrades_the_database_it_names(tmp_path: Path) -> None:
    path = tmp_path / "monitor.db"
    config = Config(Path(__file__).parents[2] / "alembic.ini", cmd_opts=Namespace(x=[f"database={path}"]))

    command.upgrade(config, "head")
    command.check(config)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(CURRENT.revision,)]
