"""A provider or model under a new name: what was recorded under the old one goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from monitor.errors import ConfigError
from monitor.store.tables import ConfigObject, Model, Provider, Reservation, Spending
from monitor.store.vocabulary import ConfigKind

_RECORDED: Mapping[ConfigKind, type[Provider] | type[Model]] = {
    ConfigKind.PROVIDER: Provider,
    ConfigKind.MODEL: Model,
}


def rename(session: Session, kind: ConfigKind, before: str, after: str) -> None:
    """Give an object and its endpoints their new name. Raises ConfigError where something was recorded under both:
    two histories do not become one."""
    if not rename_recorded(session, kind, before, after):
        raise ConfigError(
            f"The {kind.value} '{after}' has a history of its own, and cannot go on with that of '{before}'.",
            remedy="Take renamed_from out, or choose a name that was never checked.",
        )
    session.execute(
        update(ConfigObject).where(ConfigObject.kind == kind, ConfigObject.slug == before).values(slug=after)
    )
    session.expire_all()


def rename_recorded(session: Session, kind: ConfigKind, before: str, after: str) -> bool:
    """Give what was recorded its new name, if anything was; False, and nothing changed, where something was recorded
    under both."""
    recorded: Any = _RECORDED[kind]
    known = session.scalars(select(recorded.slug).where(recorded.slug.in_((before, after)))).all()
    if len(known) > 1:
        return False
    if before in known:
        session.execute(update(recorded).where(recorded.slug == before).values(slug=after))
        for table in (Spending, Reservation) if kind is ConfigKind.PROVIDER else ():
            session.execute(update(table).where(table.provider == before).values(provider=after))
        session.expire_all()
    return True
