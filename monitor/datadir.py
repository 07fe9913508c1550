"""The data directory: private to its user, and home of the seed that the private prompts are drawn from."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEED_BYTES = 32


@dataclass(frozen=True, slots=True)
class DataDir:
    """Everything that the service keeps on disk. Its methods raise StorageError where the disk does not play along."""

    path: Path

    @property
    def seed_path(self) -> Path:
        return self.path / "seed"

    @property
    def database_path(self) -> Path:
        return self.path / "monitor.db"

    @property
    def cache_path(self) -> Path:
        return self.path / "cache"

    def create(self) -> None:
        """Make the directory, with mode 0700, unless it is there (then its mode is its owner's choice)."""
        with self._storage_errors("create"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)

    def seed(self) -> bytes:
        """The installation's 32 random bytes, made at the first call; callers at the same time get the same ones.

        A seed that is there but wrong is never replaced: every anchor would change with it.
        """
        self.create()
        with self._storage_errors("keep the seed in"):
            if not self.seed_path.exists():
                self._publish_seed(secrets.token_bytes(SEED_BYTES))
            return self._read_seed()

    def _publish_seed(self, seed: bytes) -> None:
        # A hard link appears whole or not at all and never replaces a file, so that the first creator wins.
        draft = self.path / f".seed.{secrets.token_hex(8)}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(seed)
                file.flush()
                os.fsync(file.fileno())
            self.seed_path.hardlink_to(draft)
        except FileExistsError:
            return
        finally:
            draft.unlink()

    def _read_seed(self) -> bytes:
        with self.seed_path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            seed = file.read(SEED_BYTES + 1)
        if mode & 0o077:
            raise StorageError(
                f"The seed {self.seed_path} can be read by others (mode {mode:04o}).",
                remedy=f"Run `chmod 600 {self.seed_path}`; if others may have read it, remove it and enrol again.",
            )
        if len(seed) != SEED_BYTES:
            size = f"{len(seed)} bytes" if len(seed) < SEED_BYTES else f"more than {SEED_BYTES} bytes"
            raise StorageError(
                f"The seed {self.seed_path} holds {size} instead of {SEED_BYTES}.",
                remedy="Restore it from a backup, or remove it: a new one is made, and every endpoint enrols again.",
            )
        return seed

    @contextmanager
    def _storage_errors(self, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = error.filename or self.path
            raise StorageError(
                f"Cannot {action} the data directory {self.path}: {where}: {error.strerror or error}.",
                remedy="Free some space or correct the permissions, or set MONITOR_DATA_DIR to another directory.",
            ) from error
