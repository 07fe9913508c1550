"""A configuration as objects that are kept one by one: taken apart, compared with those stored, put together again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from monitor.config.document import Document
from monitor.config.load import Config, Inspected, inspect_document
from monitor.config.problems import KeyPath, report
from monitor.errors import ConfigError
from monitor.store.vocabulary import ConfigKind, ManagedBy

# The key of the file that holds the objects of a kind, in the file's order.
SECTIONS = {
    ConfigKind.DEFAULTS: "defaults",
    ConfigKind.MODEL: "models",
    ConfigKind.PROVIDER: "providers",
    ConfigKind.SCHEDULE: "schedules",
    ConfigKind.RULE: "rules",
    ConfigKind.CHANNEL: "channels",
    ConfigKind.ROUTE: "routes",
    ConfigKind.MAINTENANCE: "maintenance",
    ConfigKind.RETENTION: "retention",
}
# There is one of each, whose slug is the name of its kind.
SINGLE = (ConfigKind.DEFAULTS, ConfigKind.RETENTION)

# The key by which a provider or model says what it was called before.
RENAMED = "renamed_from"

# What stands for the file's name where nothing came from a file.
NO_FILE = Path("the configuration")


@dataclass(frozen=True, slots=True)
class FileObject:
    """One object as the file says it. `source` is the file and line, `position` its place among those of its kind."""

    kind: ConfigKind
    slug: str
    body: Mapping[str, Any]
    source: str
    position: int


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object as it is kept; `source` is None for one made through the API."""

    kind: ConfigKind
    slug: str
    body: Mapping[str, Any]
    managed_by: ManagedBy
    source: str | None
    position: int
    enabled: bool
    row_version: int
    created_at: datetime
    updated_at: datetime

    @property
    def of_file(self) -> bool:
        """Whether the file says so now, so that nothing else may change it."""
        return self.enabled and self.managed_by is ManagedBy.FILE


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one object: `before` is None for a new one, `after` for one that goes. `renamed_from` is the slug
    that it had, of one that goes on under another."""

    kind: ConfigKind
    slug: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    renamed_from: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that differ, apart from those of a new name."""
        before, after = self.before or {}, self.after or {}
        keys = {*before, *after} - (set() if self.renamed_from is None else {identity_key(self.kind), RENAMED})
        return tuple(sorted(key for key in keys if before.get(key) != after.get(key)))

    def __str__(self) -> str:
        return f"{self.kind.value} {self.slug}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What makes the stored objects say what the file says. Objects of the API stay as they are, unless the file names
    them: then they are its own from now on."""

    create: tuple[Change, ...] = ()
    update: tuple[Change, ...] = ()
    disable: tuple[Change, ...] = ()
    unchanged: tuple[FileObject, ...] = ()
    rename: tuple[Change, ...] = ()

    @property
    def changes(self) -> tuple[Change, ...]:
        return (*self.create, *self.rename, *self.update, *self.disable)


def objects_of(config: Config) -> tuple[FileObject, ...]:
    """The file's objects, each with the text of its own section as it stands there."""
    path = config.path.absolute()
    return tuple(
        FileObject(kind, slug, body, f"{path}:{config.document.line(place) or 1}", position)
        for kind, section in SECTIONS.items()
        for position, (slug, body, place) in enumerate(_parts(kind, section, config.document.data))
    )


def _parts(kind: ConfigKind, section: str, document: Any) -> Iterator[tuple[str, Mapping[str, Any], KeyPath]]:
    found = document.get(section) or {}
    if kind in SINGLE:
        if found:
            yield kind.value, found, (section,)
    elif isinstance(found, dict):
        yield from ((slug, body or {}, (section, slug)) for slug, body in found.items())
    else:
        for index, body in enumerate(found):
            yield body[identity_key(kind)], body, (section, index)


def identity_key(kind: ConfigKind) -> str:
    """The key by which the objects of a list are told apart."""
    return "slug" if kind is ConfigKind.PROVIDER else "id"


def plan(wanted: Sequence[FileObject], stored: Iterable[StoredObject]) -> Plan:
    """What has to be done for the file's objects to be the ones that count."""
    known = {(found.kind, found.slug): found for found in stored}
    named = {(entry.kind, entry.slug) for entry in wanted}
    create, update, unchanged, rename = [], [], [], []
    for entry in wanted:
        before = known.get((entry.kind, entry.slug))
        earlier = None if before is not None else earlier_name(entry.kind, entry.body, known)
        if earlier is not None:
            named.add((entry.kind, earlier.slug))
            rename.append(Change(entry.kind, entry.slug, earlier.body, entry.body, earlier.slug))
        elif before is None or not before.enabled:
            create.append(Change(entry.kind, entry.slug, None, entry.body))
        elif before.body != entry.body or not before.of_file:
            update.append(Change(entry.kind, entry.slug, before.body, entry.body))
        else:
            unchanged.append(entry)
    gone = [found for place, found in known.items() if place not in named and found.of_file]
    disable = [Change(found.kind, found.slug, found.body, None) for found in gone]
    return Plan(tuple(create), tuple(update), tuple(disable), tuple(unchanged), tuple(rename))


def earlier_name(
    kind: ConfigKind, body: Mapping[str, Any], known: Mapping[tuple[ConfigKind, str], StoredObject]
) -> StoredObject | None:
    """The stored object that `body`, of which nothing is stored yet, says it was."""
    if kind not in (ConfigKind.PROVIDER, ConfigKind.MODEL):
        return None
    return known.get((kind, str(body.get(RENAMED))))


def config_from_objects(stored: Iterable[StoredObject]) -> Config:
    """The configuration that all enabled objects make together. Raises ConfigError that names every problem."""
    inspected, path = _inspected(stored)
    if inspected.config is None:
        raise ConfigError(report(path, inspected.problems), remedy="`monitor config diff` shows what is stored.")
    return inspected.config


def inspect_objects(stored: Iterable[StoredObject]) -> Inspected:
    """Check all enabled objects together, by the schema and the rules of the file."""
    return _inspected(stored)[0]


def _inspected(stored: Iterable[StoredObject]) -> tuple[Inspected, Path]:
    enabled = in_order(found for found in stored if found.enabled)
    path = next((_place(found.source)[0] for found in enabled if found.source is not None), NO_FILE)
    return inspect_document(_document(enabled), path), path


def in_order(stored: Iterable[StoredObject]) -> list[StoredObject]:
    """As a file would list them: those of the file as they stand there, then those of the API as they came."""
    kinds = list(ConfigKind)
    return sorted(
        stored,
        key=lambda found: (
            kinds.index(found.kind),
            found.managed_by is ManagedBy.API,
            found.position,
            found.created_at,
            found.slug,
        ),
    )


def document_data(stored: Iterable[StoredObject]) -> dict[str, Any]:
    """The enabled objects as one document that the file's schema reads."""
    return _data(in_order(found for found in stored if found.enabled))


def _document(stored: Sequence[StoredObject]) -> Document:
    lines = {place: _place(found.source)[1] for place, found in _placed(stored) if found.source is not None}
    return Document(_data(stored), lines)


def _data(stored: Iterable[StoredObject]) -> dict[str, Any]:
    data: dict[str, Any] = {"version": 1}
    for (section, *inner), found in _placed(stored):
        match inner:
            case []:
                data[str(section)] = found.body
            case [str(slug)]:
                data.setdefault(str(section), {})[slug] = found.body
            case _:
                data.setdefault(str(section), []).append(found.body)
    return data


def _placed(stored: Iterable[StoredObject]) -> Iterator[tuple[KeyPath, StoredObject]]:
    """Each object with its place in the document."""
    counts: Counter[ConfigKind] = Counter()
    for found in stored:
        section = SECTIONS[found.kind]
        if found.kind in SINGLE:
            yield (section,), found
        elif found.kind is ConfigKind.MODEL:
            yield (section, found.slug), found
        else:
            yield (section, counts[found.kind]), found
            counts[found.kind] += 1


def _place(source: str) -> tuple[Path, int]:
    path, _, line = source.rpartition(":")
    return Path(path), int(line)
