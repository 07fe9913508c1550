"""`monitor db`: looks after the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from monitor import clock
from monitor.cli.output import print_json, print_message, print_table
from monitor.datadir import DataDir
from monitor.errors import StorageError, UsageError
from monitor.service import backup as backups
from monitor.service.lock import held
from monitor.settings import Settings, load_settings
from monitor.store.database import Database
from monitor.store.schema import CURRENT, current_revision
from monitor.store.schema import upgrade as upgrade_schema
from monitor.store.session import Sessions
from monitor.store.upkeep import Upkeep

app = typer.Typer(no_args_is_help=True, help="Upgrade, check, back up, restore, prune and measure the database.")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def upgrade(as_json: AsJson = False) -> None:
    """Bring the database to this program's schema; a SQLite file is copied first. One process does so at a time."""
    settings = load_settings()
    DataDir(settings.data_dir).create()
    before = upgrade_schema(Database.named(settings.database), clock.now())
    if as_json:
        print_json({"schema": "monitor.db_upgrade/1", "before": before, "after": CURRENT.revision})
    elif before == CURRENT.revision:
        print_message(f"The database has schema {before} already.")
    else:
        print_message(f"The database has schema {CURRENT.revision} now; it was {before or 'empty'}.")


@app.command()
def check(as_json: AsJson = False) -> None:
    """Is the file sound, is every reference between rows kept, is the schema this program's, how many rows are there?
    Exits 6 where something is wrong."""
    with _opened(load_settings()) as (database, upkeep):
        revision, complaints, rows = upkeep.revision(), upkeep.complaints(), upkeep.counts()
    if revision != CURRENT.revision:
        complaints = [f"schema {revision} instead of {CURRENT.revision}", *complaints]
    if as_json:
        document = {"database": str(database), "revision": revision, "ok": not complaints, "complaints": complaints}
        print_json({"schema": "monitor.db_check/1", **document, "rows": rows})
    else:
        print_table(("table", "rows"), [(name, str(count)) for name, count in rows.items()])
        print_message("\n".join(complaints) or f"{database} is sound, schema {revision}.")
    raise typer.Exit(StorageError.exit_code if complaints else 0)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="Where to; it must not be there yet.")], as_json: AsJson = False
) -> None:
    """Write database and seed to one file, while the service goes on."""
    settings = load_settings()
    with _opened(settings) as (database, _):
        manifest = backups.back_up(database, DataDir(settings.data_dir), file, clock.now())
    if as_json:
        print_json({"file": str(file), "bytes": file.stat().st_size, **asdict(manifest), "schema": backups.SCHEMA})
    else:
        print_message(f"Wrote {file}: {sum(manifest.rows.values())} rows, schema {manifest.revision}. Keep it private.")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `monitor db backup` wrote.")], as_json: AsJson = False
) -> None:
    """Put a backup in the place of the database and the seed, which are kept beside it. The service must not run."""
    settings = load_settings()
    data = DataDir(settings.data_dir)
    if not file.is_file():
        raise UsageError(f"There is no file {file}.", remedy="Name what `monitor db backup` wrote.")
    with held(data):
        manifest = backups.restore(file, Database.named(settings.database), data, clock.now())
    if as_json:
        print_json({"file": str(file), **asdict(manifest), "schema": backups.SCHEMA})
    else:
        print_message(f"Restored {sum(manifest.rows.values())} rows of {manifest.made_at}, schema {manifest.revision}.")


@app.command()
def prune(as_json: AsJson = False) -> None:
    """Delete now what `retention` keeps no longer; the service does so every hour."""
    # Celery is loaded with the worker's code, which the other commands need not wait for.
    from monitor.worker.bell import SilentBell
    from monitor.worker.context import Context
    from monitor.worker.prune import prune as delete_old
    from monitor.worker.stop_sign import StopSign

    settings = load_settings()
    with _opened(settings):
        pass
    context = Context.open(settings, SilentBell(), StopSign())
    try:
        deleted = delete_old(context, clock.now())
    finally:
        context.close()
    if as_json:
        print_json({"schema": "monitor.db_prune/1", "deleted": deleted})
    else:
        print_message(f"Deleted {deleted} rows.")


@app.command()
def stats(as_json: AsJson = False) -> None:
    """How many rows and bytes every table has, the largest first."""
    with _opened(load_settings()) as (database, upkeep):
        total, sizes = upkeep.database_bytes(), upkeep.sizes()
    if as_json:
        tables = {name: asdict(size) for name, size in sizes.items()}
        print_json({"schema": "monitor.db_stats/1", "database": str(database), "bytes": total, "tables": tables})
        return
    rows = [(name, str(size.rows), "–" if size.bytes is None else str(size.bytes)) for name, size in sizes.items()]
    print_table(("table", "rows", "bytes"), [*rows, ("in all", "", str(total))])


@contextmanager
def _opened(settings: Settings) -> Iterator[tuple[Database, Upkeep]]:
    """The database as it is: neither made nor upgraded."""
    database = Database.named(settings.database)
    if database.path is not None and not database.path.exists():
        raise UsageError(
            f"There is no database {database} yet.", remedy="`monitor up` or `monitor db upgrade` makes it."
        )
    if current_revision(database) is None:
        raise UsageError(f"The database {database} is empty.", remedy="`monitor db upgrade` fills it.")
    sessions = Sessions(database)
    try:
        yield database, Upkeep(sessions)
    finally:
        sessions.close()
