"""Looks at everything that the service needs, and says of each whether it is right and what to do."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

from monitor.config import Config, inspect_config, may_be_there
from monitor.config.presence import missing_references, secrets_of
from monitor.datadir import DataDir
from monitor.errors import ConfigError, MonitorError, SecretError, StorageError
from monitor.service.lock import running
from monitor.service.reach import answers
from monitor.service.skew import clock_skews
from monitor.settings import Settings
from monitor.store import Beats
from monitor.store.database import Database
from monitor.store.faults import storage_faults
from monitor.store.schema import CURRENT, current_revision
from monitor.store.session import Sessions

_LEAST_FREE_BYTES = 1_000_000_000
_MOST_SKEW_S = 30.0
_WORKED_WITHIN = timedelta(minutes=2)


class Standing(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `exit_code` is the command's where it failed."""

    name: str
    standing: Standing
    text: str
    remedy: str = ""
    exit_code: int = 0


def examine(settings: Settings, at: datetime) -> list[Finding]:
    """Nothing is created, upgraded or changed."""
    data = DataDir(settings.data_dir)
    return [
        *_looked("data", _disk(data)),
        *_looked("seed", _seed(data)),
        *_looked("database", _database(settings, at)),
        *_looked("broker", _broker(settings, data)),
        *_looked("config", _configuration(settings.config)),
    ]


def _looked(name: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """What cannot be looked at is found to have failed."""
    try:
        yield from findings
    except MonitorError as error:
        yield _failed(name, error)


def _ok(name: str, text: str) -> Finding:
    return Finding(name, Standing.OK, text)


def _warning(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, Standing.WARNING, text, remedy)


def _failed(name: str, error: MonitorError) -> Finding:
    return Finding(name, Standing.FAILED, error.message, error.remedy, error.exit_code)


def _disk(data: DataDir) -> Iterator[Finding]:
    if not data.has(data.path):
        yield _warning("data", f"There is no data directory {data.path} yet.", "`monitor up` makes it.")
        return
    mode = stat.S_IMODE(data.path.stat().st_mode)
    if mode & 0o077:
        yield _warning("data", f"{data.path} is open to others (mode {mode:04o}).", f"Run `chmod 700 {data.path}`.")
    free = shutil.disk_usage(data.path).free
    told = f"{free / 1e9:.1f} GB free at {data.path}"
    yield _ok("disk", told) if free >= _LEAST_FREE_BYTES else _warning("disk", told, "Free some space.")


def _seed(data: DataDir) -> Iterator[Finding]:
    """Its presence and mode; nothing of it is read."""
    if not data.has(data.seed_path):
        yield _warning("seed", "There is no seed yet.", "The first check makes it; or copy that of the first worker.")
        return
    mode = stat.S_IMODE(data.seed_path.stat().st_mode)
    if mode & 0o077:
        message = f"The seed can be read by others (mode {mode:04o})."
        yield _failed("seed", StorageError(message, remedy=f"Run `chmod 600 {data.seed_path}`."))
    else:
        yield _ok("seed", f"mode {mode:04o}")


def _database(settings: Settings, at: datetime) -> Iterator[Finding]:
    database = Database.named(settings.database)
    with storage_faults(database):
        missing = database.path is not None and not database.path.exists()
    if missing:
        yield _warning("database", f"There is no database {database} yet.", "`monitor up` makes it.")
        return
    revision = current_revision(database)
    if revision != CURRENT.revision:
        message = f"{database} has schema {revision}, this program {CURRENT.revision}."
        yield _failed("database", StorageError(message, remedy="`monitor db upgrade` brings it up to date."))
        return
    yield _ok("database", f"{database}, schema {revision}")
    yield _workers(database, at)


def _workers(database: Database, at: datetime) -> Finding:
    sessions = Sessions(database)
    try:
        beats = Beats(sessions).all()
    finally:
        sessions.close()
    if not beats:
        return _warning("worker", "No worker has ever run.", "`monitor up`, or `monitor worker`, starts one.")
    last = max(beats, key=lambda beat: beat.progress_at)
    told = f"{last.name} finished some work {(at - last.progress_at).total_seconds():.0f} s ago"
    if at - last.progress_at < _WORKED_WITHIN:
        return _ok("worker", told)
    return _warning("worker", told, "Is `monitor up`, or are `monitor worker` and `monitor beat` running?")


def _broker(settings: Settings, data: DataDir) -> Iterator[Finding]:
    url = _broker_url(settings, data)
    if url is None:
        yield _warning("broker", "No broker is named, and no `monitor up` runs.", "Set MONITOR_BROKER_URL, or run it.")
    elif answers(url):
        yield _ok("broker", "answers")
    else:
        remedy = "Start the Redis or Valkey server that MONITOR_BROKER_URL names."
        yield _failed("broker", StorageError("The broker does not answer.", remedy=remedy))


def _broker_url(settings: Settings, data: DataDir) -> str | None:
    if settings.broker_url is not None:
        return settings.broker_url.get_secret_value()
    service = running(data)
    return None if service is None else service.broker_url


def _configuration(path: Path) -> Iterator[Finding]:
    try:
        inspected = inspect_config(path)
    except ConfigError as error:
        missing = _warning("config", error.message, error.remedy)
        yield _failed("config", error) if may_be_there(path) else missing
        return
    if inspected.config is None:
        message = f"{path} has {len(inspected.problems)} problems."
        yield _failed("config", ConfigError(message, remedy="`monitor config check` shows them."))
        return
    yield _ok("config", f"{path} is valid")
    yield from _keys(inspected.config)
    yield from _clocks(inspected.config)


def _keys(config: Config) -> Iterator[Finding]:
    """Whether each key is there; never what it is."""
    missing = missing_references(config)
    for problem in missing:
        yield _failed("key", SecretError(problem.located(config.path), remedy="Set it where the service runs."))
    if not missing:
        count = sum(len(secrets_of(provider)) for provider in config.file.providers)
        yield _ok("keys", f"all {count} references can be resolved")


def _clocks(config: Config) -> Iterator[Finding]:
    for slug, ahead in clock_skews([provider for provider in config.file.providers if provider.enabled]).items():
        name = f"clock {slug}"
        if ahead is None:
            yield _warning(name, "The provider did not tell its time.", f"`monitor providers check {slug}` asks it.")
        elif abs(ahead) > _MOST_SKEW_S:
            yield _warning(name, f"The provider's clock is {ahead:+.0f} s from this one.", "Set this machine's clock.")
        else:
            yield _ok(name, f"{ahead:+.0f} s")
