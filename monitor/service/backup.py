"""A backup as one file: the database as of one moment, and the keys without which endpoints enrol again and suites
stay shut."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from monitor.datadir import DataDir
from monitor.errors import StorageError, UsageError
from monitor.store.database import Database
from monitor.store.faults import storage_faults
from monitor.store.session import Sessions
from monitor.store.snapshot import settle, snapshot
from monitor.store.upkeep import Upkeep

SCHEMA = "monitor.backup/1"
DATABASE = "monitor.db"
KEYS = ("seed", "signing-key", "suites-key")
_MANIFEST = "manifest.json"
_MOST_MANIFEST_BYTES = 1_000_000
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds: the schema's revision, the rows of every table, and the SHA-256 of every file."""

    made_at: str
    revision: str
    rows: Mapping[str, int]
    sha256: Mapping[str, str]


def back_up(database: Database, data: DataDir, target: Path, at: datetime) -> Manifest:
    """Write a backup to `target`, whole or not at all, while others write to the database.

    Raises UsageError for a server's database and where there is something at `target`.
    """
    file = _file_of(database)
    with storage_faults(database):
        if target.exists():
            raise UsageError(f"{target} is there already.", remedy="Name another file.")
    with storage_faults(database), TemporaryDirectory(prefix=".backup-", dir=target.absolute().parent) as folder:
        copy = Path(folder) / DATABASE
        snapshot(file, copy)
        files = {DATABASE: copy, **{name: data.path / name for name in KEYS if (data.path / name).exists()}}
        revision, rows = _inside(copy)
        manifest = Manifest(at.isoformat(), revision, rows, {name: _sha256(path) for name, path in files.items()})
        draft = Path(folder) / "draft"
        _write(draft, files, manifest)
        draft.rename(target)
    return manifest


def restore(source: Path, database: Database, data: DataDir, at: datetime) -> Manifest:
    """Put a backup in the place of what is there, which is kept beside it under the name NAME.TIME.bak.

    The caller holds the data directory's lock. Raises UsageError for what is no backup, StorageError where its content
    is damaged or the present database is in use.
    """
    file = _file_of(database)
    places = {DATABASE: file, **{name: data.path / name for name in KEYS}}
    with storage_faults(database), _unpacked(source, places) as (unpacked, manifest):
        if file.exists() and not settle(file):
            raise StorageError(f"The database {database} is in use.", remedy="Stop every process of the service first.")
        stamp = f"{at:%Y%m%dT%H%M%SZ}"
        for name, content in unpacked.items():
            place = places[name]
            if place.exists():
                place.rename(place.with_name(f"{place.name}.{stamp}.bak"))
            content.rename(place)
    return manifest


def _file_of(database: Database) -> Path:
    if database.path is None:
        raise UsageError(
            f"{database} is a server's database.",
            remedy="Use pg_dump and pg_restore, and copy the files `seed` and `suites-key` as well.",
        )
    return database.path


def _write(draft: Path, files: Mapping[str, Path], manifest: Manifest) -> None:
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        with tarfile.open(fileobj=out, mode="w") as tar:
            _add(tar, _MANIFEST, json.dumps({"schema": SCHEMA, **asdict(manifest)}, indent=2).encode())
            for name, path in files.items():
                tar.add(path, name, recursive=False)
        out.flush()
        os.fsync(out.fileno())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    tar.addfile(info, io.BytesIO(content))


@contextmanager
def _unpacked(source: Path, places: Mapping[str, Path]) -> Iterator[tuple[dict[str, Path], Manifest]]:
    """The files of a backup, each as the manifest says, and on the same disk as its place."""
    with ExitStack() as folders:
        unpacked = {}
        try:
            with tarfile.open(source, "r:") as tar:
                manifest = _manifest(tar)
                for file in manifest.sha256:
                    folder = folders.enter_context(TemporaryDirectory(prefix=".restore-", dir=places[file].parent))
                    tar.extract(file, folder, filter="data")
                    unpacked[file] = Path(folder) / file
        except (tarfile.TarError, KeyError, ValueError, TypeError) as error:
            raise UsageError(f"{source} is no backup.", remedy="`monitor db backup FILE` makes one.") from error
        for file, digest in manifest.sha256.items():
            unpacked[file].chmod(0o600)
            if _sha256(unpacked[file]) != digest:
                raise StorageError(f"{source} is damaged: {file} is not what it was.", remedy="Take another backup.")
        if _inside(unpacked[DATABASE]) != (manifest.revision, manifest.rows):
            raise StorageError(f"{source} is damaged: its database has other rows.", remedy="Take another backup.")
        yield unpacked, manifest


def _manifest(tar: tarfile.TarFile) -> Manifest:
    member = tar.extractfile(_MANIFEST)
    document: Any = json.loads(member.read(_MOST_MANIFEST_BYTES)) if member is not None else {}
    if document.pop("schema") != SCHEMA:
        raise ValueError("another kind of file")
    manifest = Manifest(**document)
    if DATABASE not in manifest.sha256 or not set(manifest.sha256) <= {DATABASE, *KEYS}:
        raise ValueError("other files than a backup has")
    return manifest


def _inside(file: Path) -> tuple[str, dict[str, int]]:
    sessions = Sessions(Database.named(file))
    try:
        upkeep = Upkeep(sessions)
        return upkeep.revision(), upkeep.counts()
    finally:
        sessions.close()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()
