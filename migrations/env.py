"""Runs migrations: on the connection that the store hands over, or on the database named on the command line.

alembic -x database=PATH_OR_URL upgrade head
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa
from alembic import context

from monitor.errors import UsageError
from monitor.store import schema
from monitor.store.columns import FiniteFloat, Json, UtcDateTime
from monitor.store.database import Database
from monitor.store.tables import Table

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext


def render_item(kind: str, value: Any, _context: AutogenContext) -> str | Literal[False]:
    """Migrations must not change with the program, so that its own column types are written as what they are."""
    if kind == "type" and isinstance(value, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(value, FiniteFloat):
        return "sa.Double()"
    if kind == "type" and isinstance(value, Json):
        return "sa.JSON()"
    return False


def migrate(connection: sa.Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Table.metadata,
        render_as_batch=True,
        render_item=render_item,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def named_database() -> Database:
    name = context.get_x_argument(as_dictionary=True).get("database")
    if not name:
        raise UsageError("No database is named.", remedy="Run alembic -x database=PATH_OR_URL …")
    return Database.named(name)


def run() -> None:
    if context.is_offline_mode():
        context.configure(url=named_database().url, target_metadata=Table.metadata, literal_binds=True)
        with context.begin_transaction():
            context.run_migrations()
        return
    given = context.config.attributes.get("connection")
    if given is not None:
        migrate(given)
        return
    database = named_database()
    with schema.exclusive(database), schema.migration(database) as connection:
        migrate(connection)


run()
