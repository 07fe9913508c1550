"""Imports, lists, opens and removes private eval sets.

They are in the database, and not in files: production's workers, on whatever hosts, share nothing else.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, BinaryIO

from monitor.errors import SuiteUnreadableError, UsageError
from monitor.store import suites as rows
from monitor.store.access import audit
from monitor.store.session import Sessions
from monitor.store.suites import SuiteRecord
from monitor.suites.content import Head, Tally, chunks_of, items_of, new_canary
from monitor.suites.key import SuiteKey
from monitor.suites.sealing import Unsealable, seal, unseal
from probes.evals.formats import Format, Reading, detect, read_items
from probes.evals.item import EvalItem

_LENGTH = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Source:
    """A file of eval items, how it is read, and a folder for what is sealed of it meanwhile."""

    path: Path
    reading: Reading
    spool: Path

    def format(self) -> Format:
        """The one that is named, or else that of the first line."""
        with opened(self.path) as file:
            return self.reading.format or detect(file)

    @contextmanager
    def items(self) -> Iterator[Iterator[EvalItem]]:
        """The items, each as soon as it is read. Raises SuiteFileError for what is refused of them."""
        with opened(self.path) as file:
            yield (numbered.item for numbered in read_items(file, self.reading))


@dataclass(frozen=True, slots=True)
class Imported:
    """`new` is whether the version was not there yet."""

    record: SuiteRecord
    new: bool


@dataclass(frozen=True, slots=True)
class OpenSuite:
    """A version that the key opens. Its items come out one by one; nothing of them is in its representation."""

    record: SuiteRecord
    head: Head = field(repr=False)
    _items: Callable[[], Iterator[EvalItem]] = field(repr=False)

    def items(self) -> Iterator[EvalItem]:
        """The items in their order. Raises SuiteUnreadableError as soon as what is stored is not what was sealed, or at
        the end where some is missing."""
        tally = Tally()
        yield from tally.passing(self._items())
        if (tally.items, tally.sha256) != (self.record.items, self.record.sha256):
            raise _damaged(self.record, "its items are not those of its hash")


class Suites:
    """The suites of one database. Raises StorageError where it cannot be used."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def records(self) -> list[SuiteRecord]:
        """The version in use of every suite, by name."""
        with self._sessions.read() as session:
            found = rows.versions(session)
        return [record for at, record in enumerate(found) if at == 0 or found[at - 1].name != record.name]

    def versions(self, name: str) -> list[SuiteRecord]:
        """All versions of a suite, the one in use first. Raises UsageError where there is no such suite."""
        with self._sessions.read() as session:
            found = rows.versions(session, name)
        if not found:
            raise UsageError(f"There is no suite {name}.", remedy="`monitor suites list` shows them.")
        return found

    def import_file(self, name: str, source: Source, key: SuiteKey, *, actor: str, at: datetime) -> Imported:
        """Make the items of a file a version of suite `name`, in one transaction, unless they are one already.

        The file is read twice: for its hash, which every record is bound to, and to seal it. Raises SuiteFileError for
        a file that is refused, SuiteUnreadableError where the suites of this database are sealed with another key.
        """
        tally = _tallied(source)
        with self._sessions.read() as session:
            _refuse_other_key(rows.key_ids(session), key.id)
            known = rows.versions(session, name)
        if any(record.sha256 == tally.sha256 for record in known):
            return self._kept(name, tally.sha256, actor, at)
        # Text that left with an earlier version stays findable.
        canary = self.open(name, key).head.canary if known else new_canary()
        with tempfile.TemporaryFile(dir=source.spool) as sealed:
            count = _seal_items(source, tally.sha256, key, sealed)
            head = seal(key, tally.head(canary).pack(), _place(tally.sha256, "head"))
            draft = SuiteRecord(
                name, 0, tally.sha256, source.format().value, tally.items, count, key.id, head, actor, at
            )
            return self._added(draft, sealed)

    def open(self, name: str, key: SuiteKey, *, sha256: str | None = None) -> OpenSuite:
        """A version of a suite: the one of this hash, or the one in use.

        Raises UsageError where there is none, SuiteUnreadableError where the key is another one or the head is damaged.
        """
        found = [record for record in self.versions(name) if sha256 in (None, record.sha256)]
        if not found:
            raise UsageError(
                f"The suite {name} has no version {sha256}.", remedy="`monitor suites show NAME` has them."
            )
        record = found[0]
        _refuse_other_key({record.key_id}, key.id)
        try:
            head = Head.unpack(unseal(key, record.head, _place(record.sha256, "head")))
        except (Unsealable, ValueError, TypeError):
            raise _damaged(record, "its head is not what was sealed") from None
        return OpenSuite(record, head, lambda: self._items(record, key))

    def note_revealed(self, record: SuiteRecord, *, actor: str, at: datetime) -> None:
        """Note in the audit log that somebody takes the text of a suite out of the store."""
        with self._sessions.write() as session:
            audit(session, actor, "suite.reveal", record.name, {"sha256": record.sha256}, at)

    def remove(self, name: str, *, actor: str, at: datetime) -> None:
        """Delete a suite with all versions. Raises UsageError where there is none."""
        with self._sessions.write() as session:
            if not rows.remove(session, name):
                raise UsageError(f"There is no suite {name}.", remedy="`monitor suites list` shows them.")
            audit(session, actor, "suite.remove", name, {}, at)
        self._sessions.give_back_space()

    def _kept(self, name: str, sha256: str, actor: str, at: datetime) -> Imported:
        with self._sessions.write() as session:
            found = rows.reuse(session, name, sha256, at)
            if found is None:
                raise UsageError(f"The suite {name} was removed meanwhile.", remedy="Import it again.")
            audit(session, actor, "suite.import", name, {"sha256": sha256, "new": False}, at)
            return Imported(found, new=False)

    def _added(self, draft: SuiteRecord, sealed: IO[bytes]) -> Imported:
        with self._sessions.write() as session:
            # Somebody else may have been here since.
            _refuse_other_key(rows.key_ids(session), draft.key_id)
            found = rows.reuse(session, draft.name, draft.sha256, draft.imported_at)
            record = found or replace(draft, version=rows.next_version(session, draft.name, draft.imported_at))
            if found is None:
                rows.add_version(session, record, _unspooled(sealed))
            detail = {"sha256": record.sha256, "new": found is None}
            audit(session, draft.imported_by, "suite.import", record.name, detail, draft.imported_at)
        return Imported(record, new=found is None)

    def _items(self, record: SuiteRecord, key: SuiteKey) -> Iterator[EvalItem]:
        for position in range(record.chunks):
            with self._sessions.read() as session:
                sealed = rows.chunk(session, record.name, record.version, position)
            if sealed is None:
                raise _damaged(record, f"chunk {position} of {record.chunks} is missing")
            try:
                yield from items_of(unseal(key, sealed, _place(record.sha256, str(position))))
            except (Unsealable, ValueError):
                raise _damaged(record, f"chunk {position} of {record.chunks} is not what was sealed") from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Raises UsageError where there is no file that can be read."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", remedy="Name a file of eval items.") from error
    with file:
        yield file


def _tallied(source: Source) -> Tally:
    tally = Tally()
    with source.items() as items:
        for item in items:
            tally.add(item)
    return tally


def _seal_items(source: Source, sha256: str, key: SuiteKey, sealed: IO[bytes]) -> int:
    """Write the items' chunks, sealed, each after its length; how many there are."""
    tally = Tally()
    count = 0
    with source.items() as items:
        for position, chunk in enumerate(chunks_of(tally.passing(items))):
            blob = seal(key, chunk, _place(sha256, str(position)))
            sealed.write(_LENGTH.pack(len(blob)) + blob)
            count += 1
    if tally.sha256 != sha256:
        raise UsageError(f"{source.path} changed while it was read.", remedy="Import it again.")
    return count


def _unspooled(sealed: IO[bytes]) -> Iterator[bytes]:
    sealed.seek(0)
    while length := sealed.read(_LENGTH.size):
        yield sealed.read(_LENGTH.unpack(length)[0])


def _place(sha256: str, part: str) -> str:
    """What a record is bound to: it opens nowhere else, in no other version and at no other position."""
    return f"{sha256}/{part}"


def _refuse_other_key(ids: set[str], own: str) -> None:
    others = ids - {own}
    if others:
        raise SuiteUnreadableError(
            f"The suites are sealed with the key {', '.join(sorted(others))}, and the key here is {own}.",
            remedy="Give MONITOR_SUITES_KEY_FILE or the data directory the key that they were imported with; if it is "
            "lost, remove the suites and import them again.",
        )


def _damaged(record: SuiteRecord, why: str) -> SuiteUnreadableError:
    return SuiteUnreadableError(
        f"The suite {record.name}, version {record.version}, is damaged: {why}.",
        remedy="Remove it and import it again, or restore the database from a backup.",
    )
