"""The configuration's objects: applied from the file in one transaction, or changed one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, text, update
from sqlalchemy.orm import Session

from monitor.config import Config
from monitor.config.objects import (
    SINGLE,
    Change,
    FileObject,
    Plan,
    StoredObject,
    config_from_objects,
    earlier_name,
    identity_key,
    in_order,
    plan,
)
from monitor.errors import ConflictError, ManagedByFileError, NotFoundError, PreconditionFailedError
from monitor.store.access import audit
from monitor.store.changes import log_change
from monitor.store.renames import rename
from monitor.store.session import Sessions
from monitor.store.tables import ConfigObject, Endpoint, Model, Provider
from monitor.store.vocabulary import ChangeKind, ConfigKind, ManagedBy


def config_objects(session: Session) -> list[StoredObject]:
    """Every object, also those that are disabled, in the order in which a file lists them."""
    return in_order(_record(row) for row in session.scalars(select(ConfigObject)))


def versions(session: Session) -> list[tuple[str, int, int, str | None]]:
    """What changes whenever an object does, in one order: far quicker to read than the objects themselves."""
    columns = (ConfigObject.slug, ConfigObject.row_version, ConfigObject.position, ConfigObject.source)
    rows = session.execute(select(*columns).order_by(ConfigObject.kind, ConfigObject.slug))
    return [(slug, row_version, position, source) for slug, row_version, position, source in rows]


def find_object(session: Session, kind: ConfigKind, slug: str) -> StoredObject | None:
    row = session.get(ConfigObject, (kind, slug), populate_existing=True)
    return None if row is None else _record(row)


def apply(session: Session, wanted: Sequence[FileObject], actor: str, at: datetime) -> Plan:
    """Make the file's objects the ones that count. Raises ConfigError where they do not go with the API's objects."""
    lock(session)
    stored = {(found.kind, found.slug): found for found in config_objects(session)}
    made = plan(wanted, stored.values())
    for change in made.rename:
        stored[change.kind, change.slug] = _renamed(session, change.kind, str(change.renamed_from), change.slug)
    touched = {(change.kind, change.slug) for change in made.changes}
    for entry in wanted:
        place = (entry.kind, entry.slug)
        facts = {"source": entry.source, "position": entry.position}
        if place in touched:
            facts |= {"body": dict(entry.body), "managed_by": ManagedBy.FILE, "enabled": True}
            _put(session, entry.kind, entry.slug, stored.get(place), facts, at)
        elif (stored[place].source, stored[place].position) != (entry.source, entry.position):
            session.execute(_row(entry.kind, entry.slug).values(**facts))
    for change in made.disable:
        _put(session, change.kind, change.slug, stored[change.kind, change.slug], {"enabled": False}, at)
    config_from_objects(config_objects(session))
    if made.changes:
        audit(session, actor, "config.apply", _file_of(wanted), _told(made), at)
    for change in made.changes:
        _log(session, change, at)
    return made


def lock(session: Session) -> None:
    """Let one change of the configuration follow the other, each checked against the whole."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("LOCK TABLE config_object IN SHARE ROW EXCLUSIVE MODE"))


class ConfigObjects:
    """Every method is one transaction. What is made here through `create`, `update` and `disable` is the API's; objects
    of the file are refused with ManagedByFileError. Whatever would not be valid as a whole is refused with ConfigError.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def all(self) -> list[StoredObject]:
        """Every object, also those that are disabled."""
        with self._sessions.read() as session:
            return config_objects(session)

    def versions(self) -> list[tuple[str, int, int, str | None]]:
        with self._sessions.read() as session:
            return versions(session)

    def config(self) -> Config:
        """What all enabled objects say together."""
        return config_from_objects(self.all())

    def find(self, kind: ConfigKind, slug: str) -> StoredObject:
        """Raises NotFoundError where there is no such object."""
        with self._sessions.read() as session:
            return _found(session, kind, slug)

    def plan(self, wanted: Sequence[FileObject]) -> Plan:
        return plan(wanted, self.all())

    def apply(self, wanted: Sequence[FileObject], *, actor: str, at: datetime) -> Plan:
        with self._sessions.write() as session:
            return apply(session, wanted, actor, at)

    def rehearse(self, wanted: Sequence[FileObject], *, actor: str, at: datetime) -> Plan:
        """What `apply` would do, or raise; nothing of it is kept."""
        with self._sessions.write() as session:
            made = apply(session, wanted, actor, at)
            session.rollback()
            return made

    def create(self, kind: ConfigKind, slug: str, body: Mapping[str, Any], *, actor: str, at: datetime) -> StoredObject:
        """Raises ConflictError where there is one already."""
        with self._sessions.write() as session:
            lock(session)
            before = find_object(session, kind, slug)
            if before is not None and before.enabled:
                _refuse_of_file(before)
                raise ConflictError(f"There is a {kind.value} '{slug}' already.", remedy="Change that one.")
            known = {(found.kind, found.slug): found for found in config_objects(session) if not found.enabled}
            earlier = None if before is not None else earlier_name(kind, body, known)
            if earlier is not None:
                before = _renamed(session, kind, earlier.slug, slug)
            facts = {"managed_by": ManagedBy.API, "source": None, "position": 0, "enabled": True}
            _put(session, kind, slug, before, {**facts, "body": _with_identity(kind, slug, body)}, at)
            change = Change(kind, slug, None, body, None if earlier is None else earlier.slug)
            return _finished(session, change, "config.create", actor, at)

    def update(
        self, kind: ConfigKind, slug: str, body: Mapping[str, Any], *, row_version: int, actor: str, at: datetime
    ) -> StoredObject:
        """Replace the body. Raises PreconditionFailedError where the object is no longer of `row_version`."""
        with self._sessions.write() as session:
            lock(session)
            before = _changeable(session, kind, slug, row_version)
            after = _with_identity(kind, slug, body)
            _put(session, kind, slug, before, {"body": after}, at)
            return _finished(session, Change(kind, slug, before.body, after), "config.update", actor, at)

    def disable(self, kind: ConfigKind, slug: str, *, row_version: int, actor: str, at: datetime) -> StoredObject:
        """Take it out of the configuration; whatever was recorded stays."""
        with self._sessions.write() as session:
            lock(session)
            before = _changeable(session, kind, slug, row_version)
            _put(session, kind, slug, before, {"enabled": False}, at)
            return _finished(session, Change(kind, slug, before.body, None), "config.disable", actor, at)


def _renamed(session: Session, kind: ConfigKind, before: str, after: str) -> StoredObject:
    rename(session, kind, before, after)
    return _found(session, kind, after)


def _found(session: Session, kind: ConfigKind, slug: str) -> StoredObject:
    found = find_object(session, kind, slug)
    if found is None:
        raise NotFoundError(f"There is no {kind.value} '{slug}'.", remedy="List them to see their names.")
    return found


def _changeable(session: Session, kind: ConfigKind, slug: str, row_version: int) -> StoredObject:
    found = _found(session, kind, slug)
    _refuse_of_file(found)
    if found.row_version != row_version:
        raise PreconditionFailedError(
            f"The {kind.value} '{slug}' was changed: it is at version {found.row_version}, not {row_version}.",
            remedy="Read it again, and repeat the change.",
        )
    return found


def _refuse_of_file(found: StoredObject) -> None:
    if found.of_file:
        raise ManagedByFileError(
            f"The {found.kind.value} '{found.slug}' is managed by {found.source}.",
            remedy="Change it there, then run `monitor config apply`.",
        )


def _with_identity(kind: ConfigKind, slug: str, body: Mapping[str, Any]) -> dict[str, Any]:
    if kind is ConfigKind.MODEL or kind in SINGLE:
        return dict(body)
    return {**body, identity_key(kind): slug}


def _put(
    session: Session, kind: ConfigKind, slug: str, before: StoredObject | None, facts: Mapping[str, Any], at: datetime
) -> None:
    if before is None:
        facts = {**facts, "row_version": 1, "created_at": at, "updated_at": at}
        session.execute(insert(ConfigObject).values(kind=kind, slug=slug, **facts))
    else:
        session.execute(_row(kind, slug).values(**facts, row_version=before.row_version + 1, updated_at=at))


def _row(kind: ConfigKind, slug: str) -> Any:
    return update(ConfigObject).where(ConfigObject.kind == kind, ConfigObject.slug == slug)


def _finished(session: Session, change: Change, action: str, actor: str, at: datetime) -> StoredObject:
    """The object after its change, which was checked and noted."""
    config_from_objects(config_objects(session))
    audit(session, actor, action, str(change), {"keys": list(change.keys)}, at)
    _log(session, change, at)
    return _found(session, change.kind, change.slug)


def _told(made: Plan) -> dict[str, Any]:
    return {
        "create": [str(change) for change in made.create],
        "rename": {str(change): change.renamed_from for change in made.rename},
        "update": {str(change): list(change.keys) for change in made.update},
        "disable": [str(change) for change in made.disable],
    }


def _file_of(wanted: Sequence[FileObject]) -> str:
    return wanted[0].source.rpartition(":")[0][-320:] if wanted else "an empty file"


def _log(session: Session, change: Change, at: datetime) -> None:
    """Note a change of a provider or model with each of its endpoints. Keys only: values may be private."""
    if change.kind not in (ConfigKind.PROVIDER, ConfigKind.MODEL):
        return
    if change.after is None:
        told = f"{change} was taken out of the configuration"
    elif change.renamed_from is not None:
        told = f"{change} was called {change.renamed_from} until now"
    elif change.before is None:
        told = f"{change} came into the configuration"
    else:
        told = f"{change} changed in the configuration: {', '.join(change.keys)}"
    owner = Provider if change.kind is ConfigKind.PROVIDER else Model
    joined = Endpoint.provider_id == Provider.id if owner is Provider else Endpoint.model_id == Model.id
    for endpoint_id in session.scalars(select(Endpoint.id).join(owner, joined).where(owner.slug == change.slug)):
        log_change(session, endpoint_id, ChangeKind.CONFIG, told, at)


def _record(row: ConfigObject) -> StoredObject:
    return StoredObject(
        kind=row.kind,
        slug=row.slug,
        body=row.body,
        managed_by=row.managed_by,
        source=row.source,
        position=row.position,
        enabled=row.enabled,
        row_version=row.row_version,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
