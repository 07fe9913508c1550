"""Who may do what, what was done, and the answers kept for requests that are sent again."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from monitor.store.columns import BIG_KEY, word
from monitor.store.tables.metadata import Table
from monitor.store.vocabulary import ConfigKind, ManagedBy, Role


class ConfigObject(Table):
    """One object of the configuration: an entry of the file as it stands there, or one made through the API.

    `body` is what the file's schema reads; secrets are references in it. `source` is the file and line of an object
    that the file manages, and `position` its place there, since the first schedule or route that matches is the one.
    One that was removed is disabled and keeps its history.
    """

    __tablename__ = "config_object"

    kind: Mapped[ConfigKind] = mapped_column(word(ConfigKind, "kind"), primary_key=True)
    slug: Mapped[str] = mapped_column(String(128), primary_key=True)
    body: Mapped[dict[str, Any]]
    managed_by: Mapped[ManagedBy] = mapped_column(word(ManagedBy, "managed_by"))
    source: Mapped[str | None] = mapped_column(String(2048))
    position: Mapped[int]
    enabled: Mapped[bool]
    row_version: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class User(Table):
    """`password_hash` is argon2id's own text form."""

    __tablename__ = "user_account"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(128), unique=True)
    role: Mapped[Role] = mapped_column(word(Role, "role"))
    password_hash: Mapped[str] = mapped_column(String(256))
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]


class UserSession(Table):
    """A signed-in browser; `id_sha256` is over the cookie's value."""

    __tablename__ = "user_session"
    __table_args__ = (Index(None, "expires_at"),)

    id_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class ApiToken(Table):
    """`secret_sha256` is over the token's secret part, which is shown once and never stored."""

    __tablename__ = "api_token"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(128))
    secret_sha256: Mapped[str] = mapped_column(String(64))
    scopes: Mapped[list[str]]
    created_by: Mapped[str] = mapped_column(String(128))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]


class AuditEntry(Table):
    """Who changed what."""

    __tablename__ = "audit_log"
    __table_args__ = (Index(None, "at"),)

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(String(128))
    action: Mapped[str] = mapped_column(String(64))
    object: Mapped[str] = mapped_column(String(320))
    detail: Mapped[dict[str, Any]]


class IdempotentAnswer(Table):
    """The answer to a request with an Idempotency-Key; `status` is None while the first one is still at work."""

    __tablename__ = "idempotency"
    __table_args__ = (Index(None, "expires_at"),)

    key: Mapped[str] = mapped_column(String(256), primary_key=True)
    actor: Mapped[str] = mapped_column(String(128), primary_key=True)
    route: Mapped[str] = mapped_column(String(256), primary_key=True)
    request_sha256: Mapped[str] = mapped_column(String(64))
    status: Mapped[int | None]
    headers: Mapped[dict[str, Any]]
    body: Mapped[bytes | None] = mapped_column(LargeBinary)
    expires_at: Mapped[datetime]
