"""The data directory: private to its user, and home of the seed that the private prompts are drawn from."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monitor.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEED_BYTES = 32


@dataclass(frozen=True, slots=True)
class DataDir:
    """Everything that the service keeps on disk. Its methods raise StorageError where the disk does not play along.

    `database_url` names a server that takes the place of the database file.
    """

    path: Path
    database_url: str | None = field(default=None, repr=False)

    @property
    def seed_path(self) -> Path:
        return self.path / "seed"

    @property
    def signing_key_path(self) -> Path:
        return self.path / "signing-key"

    @property
    def suites_key_path(self) -> Path:
        return self.path / "suites-key"

    @property
    def database_path(self) -> Path:
        return self.path / "monitor.db"

    @property
    def database(self) -> Path | str:
        """What `Store.open` takes: the server's URL, or the file."""
        return self.database_path if self.database_url is None else self.database_url

    def has(self, path: Path) -> bool:
        """Whether there is a file or folder `path` in the directory."""
        with self.storage_errors("look into"):
            return path.exists()

    def create(self) -> None:
        """Make the directory, with mode 0700, unless it is there (then its mode is its owner's choice)."""
        with self.storage_errors("create"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)

    def seed(self) -> bytes:
        """The installation's 32 random bytes, made at the first call; callers at the same time get the same ones.

        A seed that is there but wrong is never replaced: every anchor would change with it.
        """
        lost = "every endpoint enrols again"
        return self._private_bytes(self.seed_path, "seed", f"Restore it from a backup, or remove it: {lost}.")

    def signing_key(self) -> bytes:
        """32 random bytes like the seed, for what the service signs for itself."""
        lost = "a new one is made, and forms that are open have to be sent again"
        return self._private_bytes(self.signing_key_path, "signing key", f"Remove it: {lost}.")

    def suites_key(self) -> bytes:
        """32 random bytes like the seed, which private eval sets are sealed with. Another key opens none of them."""
        remedy = "Restore it from a backup, or remove it and the suites, and import them again."
        return self._private_bytes(self.suites_key_path, "key to the suites", remedy)

    def _private_bytes(self, path: Path, what: str, remedy: str) -> bytes:
        self.create()
        with self.storage_errors(f"keep the {what} in"):
            if not path.exists():
                self._publish(path, secrets.token_bytes(SEED_BYTES))
            return _read_private(path, what, remedy)

    def _publish(self, path: Path, value: bytes) -> None:
        # A hard link appears whole or not at all and never replaces a file, so that the first creator wins.
        draft = self.path / f".{path.name}.{secrets.token_hex(8)}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(value)
                file.flush()
                os.fsync(file.fileno())
            path.hardlink_to(draft)
        except FileExistsError:
            return
        finally:
            draft.unlink()

    @contextmanager
    def storage_errors(self, action: str) -> Iterator[None]:
        """Raises StorageError where the disk does not let the block `action` the directory."""
        try:
            yield
        except OSError as error:
            where = error.filename or self.path
            raise StorageError(
                f"Cannot {action} the data directory {self.path}: {where}: {error.strerror or error}.",
                remedy="Free some space or correct the permissions, or set MONITOR_DATA_DIR to another directory.",
            ) from error


def _read_private(path: Path, what: str, remedy: str) -> bytes:
    with path.open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        value = file.read(SEED_BYTES + 1)
    if mode & 0o077:
        raise StorageError(
            f"The {what} {path} can be read by others (mode {mode:04o}).",
            remedy=f"Run `chmod 600 {path}`; if others may have read it, remove it: a new one is made.",
        )
    if len(value) != SEED_BYTES:
        size = f"{len(value)} bytes" if len(value) < SEED_BYTES else f"more than {SEED_BYTES} bytes"
        raise StorageError(f"The {what} {path} holds {size} instead of {SEED_BYTES}.", remedy=remedy)
    return value
