"""Which database is meant: a SQLite file, by its path or URL, or a PostgreSQL server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from monitor.errors import UsageError

_DIALECTS = ("sqlite", "postgresql")


@dataclass(frozen=True, slots=True)
class Database:
    """A database by its URL. `path` is the file of a SQLite database, None for a server."""

    url: URL
    path: Path | None

    @classmethod
    def named(cls, path_or_url: Path | str) -> Database:
        """By a path, or a URL such as `sqlite:////var/lib/monitor.db` or `postgresql://host/monitor`.

        Raises UsageError for a URL that cannot be read and for a database of another kind or in memory.
        """
        if isinstance(path_or_url, Path) or "://" not in path_or_url:
            path = Path(path_or_url)
            return cls(URL.create("sqlite", database=str(path)), path)
        return cls._from_url(path_or_url)

    @classmethod
    def _from_url(cls, text: str) -> Database:
        try:
            url = make_url(text)
        except ArgumentError as error:
            # The text may hold a password, so it is not repeated.
            raise UsageError(
                "The database URL cannot be read.", remedy="Write it like postgresql://user@host/monitor."
            ) from error
        dialect = url.get_backend_name()
        if dialect not in _DIALECTS:
            raise UsageError(f"Databases of kind {dialect} are not supported.", remedy="Use SQLite or PostgreSQL.")
        if dialect != "sqlite":
            return cls(url, None)
        name = (url.database or "").removeprefix("file:")
        if name in ("", ":memory:"):
            raise UsageError("A database in memory keeps nothing.", remedy="Give the path of a file.")
        return cls(url, Path(name))

    @property
    def may_be_created(self) -> bool:
        return self.path is not None and self.url.query.get("mode") not in ("ro", "rw")

    def __str__(self) -> str:
        """For messages: the path, or the URL without its password."""
        return str(self.path) if self.path is not None else self.url.render_as_string(hide_password=True)
