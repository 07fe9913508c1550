"""Users, their sessions, API tokens, and the log of who changed what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from monitor.errors import UsageError
from monitor.store.ids import new_id
from monitor.store.keyset import Page, Window, read_page
from monitor.store.session import Sessions
from monitor.store.tables import ApiToken, AuditEntry, User, UserSession
from monitor.store.vocabulary import Role

# A token's last use is written no more often, so that reading through the API does not write all the time.
USE_NOTED_EVERY = timedelta(minutes=1)

TOKEN_SORTS = {"created_at": ApiToken.created_at, "name": ApiToken.name}
AUDIT_SORTS = {"at": AuditEntry.at}


@dataclass(frozen=True, slots=True)
class UserRecord:
    id: str
    name: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewToken:
    """What is stored of a token that was just made."""

    id: str
    name: str
    secret_sha256: str
    scopes: tuple[str, ...]
    created_by: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class TokenRecord:
    id: str
    name: str
    scopes: tuple[str, ...]
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None

    def valid(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    id: int
    at: datetime
    actor: str
    action: str
    object: str
    detail: Mapping[str, Any]


def has_users(session: Session) -> bool:
    return session.scalars(select(User.id).limit(1)).first() is not None


def users(session: Session) -> list[UserRecord]:
    return [_user_record(row) for row in session.scalars(select(User).order_by(User.created_at, User.id))]


def create_user(session: Session, name: str, role: Role, password_hash: str, at: datetime) -> UserRecord:
    """Raises UsageError where the name is taken."""
    if session.scalars(select(User.id).where(User.name == name)).first() is not None:
        raise UsageError(f"There is a user {name} already.", remedy="Choose another name.")
    row = User(id=new_id("usr", at), name=name, role=role, password_hash=password_hash, created_at=at)
    session.add(row)
    session.flush()
    return _user_record(row)


def password_of(session: Session, name: str) -> tuple[UserRecord, str] | None:
    """A user that may sign in, with the hash of the password."""
    row = session.scalars(select(User).where(User.name == name, User.disabled_at.is_(None))).one_or_none()
    return None if row is None else (_user_record(row), row.password_hash)


def disable_user(session: Session, name: str, at: datetime) -> UserRecord:
    """Let a user sign in no more, and end his sessions. Raises UsageError for nobody, and for the last admin."""
    # All of them, so that two who disable each other do it one after the other.
    admins = session.scalars(
        select(User).where(User.role == Role.ADMIN, User.disabled_at.is_(None)).order_by(User.id).with_for_update()
    ).all()
    row = _named(session, name)
    if admins == [row]:
        raise UsageError(f"{name} is the last admin.", remedy="Create or enable another one first.")
    row.disabled_at = row.disabled_at or at
    _end_sessions(session, row)
    return _user_record(row)


def enable_user(session: Session, name: str) -> UserRecord:
    """Raises UsageError for nobody."""
    row = _named(session, name)
    row.disabled_at = None
    return _user_record(row)


def change_password(session: Session, name: str, password_hash: str) -> UserRecord:
    """End the user's sessions too. Raises UsageError for nobody."""
    row = _named(session, name)
    row.password_hash = password_hash
    _end_sessions(session, row)
    return _user_record(row)


def _named(session: Session, name: str) -> User:
    row = session.scalars(select(User).where(User.name == name)).one_or_none()
    if row is None:
        raise UsageError(f"There is no user {name}.", remedy="`monitor user list` shows them.")
    return row


def _end_sessions(session: Session, user: User) -> None:
    session.execute(delete(UserSession).where(UserSession.user_id == user.id))


def _user_record(row: User) -> UserRecord:
    return UserRecord(row.id, row.name, row.role, row.created_at, row.disabled_at)


def open_session(session: Session, user_id: str, id_sha256: str, at: datetime, expires_at: datetime) -> None:
    session.execute(delete(UserSession).where(UserSession.expires_at <= at))
    session.add(UserSession(id_sha256=id_sha256, user_id=user_id, created_at=at, expires_at=expires_at))


def session_user(session: Session, id_sha256: str, at: datetime) -> UserRecord | None:
    row = session.scalars(
        select(User)
        .join(UserSession, UserSession.user_id == User.id)
        .where(UserSession.id_sha256 == id_sha256, UserSession.expires_at > at, User.disabled_at.is_(None))
    ).one_or_none()
    return None if row is None else _user_record(row)


def close_session(session: Session, id_sha256: str) -> None:
    session.execute(delete(UserSession).where(UserSession.id_sha256 == id_sha256))


def create_token(session: Session, token: NewToken, at: datetime) -> TokenRecord:
    row = ApiToken(
        id=token.id,
        name=token.name,
        secret_sha256=token.secret_sha256,
        scopes=list(token.scopes),
        created_by=token.created_by,
        created_at=at,
        expires_at=token.expires_at,
    )
    session.add(row)
    session.flush()
    return _token_record(row)


def tokens(session: Session, window: Window) -> Page[TokenRecord]:
    page = read_page(session, select(ApiToken), TOKEN_SORTS, ApiToken.id, window)
    return page.of(map(_token_record, page.items))


def token(session: Session, token_id: str) -> TokenRecord | None:
    row = session.get(ApiToken, token_id)
    return None if row is None else _token_record(row)


def token_digest(session: Session, token_id: str) -> tuple[TokenRecord, str] | None:
    """A token with the SHA-256 of its secret part."""
    row = session.get(ApiToken, token_id)
    return None if row is None else (_token_record(row), row.secret_sha256)


def revoke_token(session: Session, token_id: str, at: datetime) -> bool:
    """Whether it was valid until now."""
    revoked = update(ApiToken).where(ApiToken.id == token_id, ApiToken.revoked_at.is_(None)).values(revoked_at=at)
    return session.scalars(revoked.returning(ApiToken.id)).first() is not None


def note_use(session: Session, token_id: str, at: datetime) -> None:
    session.execute(update(ApiToken).where(ApiToken.id == token_id).values(used_at=at))


def _token_record(row: ApiToken) -> TokenRecord:
    return TokenRecord(
        id=row.id,
        name=row.name,
        scopes=tuple(row.scopes),
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_at=row.used_at,
    )


def audit(session: Session, actor: str, action: str, what: str, detail: Mapping[str, Any], at: datetime) -> None:
    """Note a change; `detail` holds JSON values and no secret."""
    session.add(AuditEntry(at=at, actor=actor, action=action, object=what, detail=dict(detail)))


def audit_entries(session: Session, window: Window) -> Page[AuditRecord]:
    page = read_page(session, select(AuditEntry), AUDIT_SORTS, AuditEntry.id, window)
    return page.of(AuditRecord(row.id, row.at, row.actor, row.action, row.object, row.detail) for row in page.items)


class Access:
    """Every method is one transaction; a change and its line in the audit log are one."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def has_users(self) -> bool:
        with self._sessions.read() as session:
            return has_users(session)

    def users(self) -> list[UserRecord]:
        with self._sessions.read() as session:
            return users(session)

    def create_user(self, name: str, role: Role, password_hash: str, *, actor: str, at: datetime) -> UserRecord:
        with self._sessions.write() as session:
            made = create_user(session, name, role, password_hash, at)
            audit(session, actor, "user.create", made.id, {"name": name, "role": role.value}, at)
            return made

    def create_first_user(self, name: str, password_hash: str, at: datetime) -> UserRecord | None:
        """The installation's first user, an admin; None where there is a user already."""
        with self._sessions.write() as session:
            if session.scalars(select(func.count()).select_from(User)).one():
                return None
            made = create_user(session, name, Role.ADMIN, password_hash, at)
            audit(session, "set-up", "user.create", made.id, {"name": name, "role": Role.ADMIN.value}, at)
            return made

    def disable_user(self, name: str, *, actor: str, at: datetime) -> UserRecord:
        with self._sessions.write() as session:
            user = disable_user(session, name, at)
            audit(session, actor, "user.disable", user.id, {"name": name}, at)
            return user

    def enable_user(self, name: str, *, actor: str, at: datetime) -> UserRecord:
        with self._sessions.write() as session:
            user = enable_user(session, name)
            audit(session, actor, "user.enable", user.id, {"name": name}, at)
            return user

    def change_password(self, name: str, password_hash: str, *, actor: str, at: datetime) -> UserRecord:
        with self._sessions.write() as session:
            user = change_password(session, name, password_hash)
            audit(session, actor, "user.password", user.id, {"name": name}, at)
            return user

    def password_of(self, name: str) -> tuple[UserRecord, str] | None:
        with self._sessions.read() as session:
            return password_of(session, name)

    def open_session(self, user_id: str, id_sha256: str, at: datetime, expires_at: datetime) -> None:
        with self._sessions.write() as session:
            open_session(session, user_id, id_sha256, at, expires_at)

    def session_user(self, id_sha256: str, at: datetime) -> UserRecord | None:
        with self._sessions.read() as session:
            return session_user(session, id_sha256, at)

    def close_session(self, id_sha256: str) -> None:
        with self._sessions.write() as session:
            close_session(session, id_sha256)

    def create_token(self, new: NewToken, at: datetime) -> TokenRecord:
        with self._sessions.write() as session:
            made = create_token(session, new, at)
            audit(session, new.created_by, "token.create", new.id, {"name": new.name, "scopes": list(new.scopes)}, at)
            return made

    def tokens(self, window: Window) -> Page[TokenRecord]:
        with self._sessions.read() as session:
            return tokens(session, window)

    def token(self, token_id: str) -> TokenRecord | None:
        with self._sessions.read() as session:
            return token(session, token_id)

    def token_digest(self, token_id: str) -> tuple[TokenRecord, str] | None:
        with self._sessions.read() as session:
            return token_digest(session, token_id)

    def revoke_token(self, token_id: str, *, actor: str, at: datetime) -> bool:
        with self._sessions.write() as session:
            revoked = revoke_token(session, token_id, at)
            if revoked:
                audit(session, actor, "token.revoke", token_id, {}, at)
            return revoked

    def note_use(self, found: TokenRecord, at: datetime) -> None:
        """Write when a token was used last, unless that was just now."""
        if found.used_at is None or at - found.used_at >= USE_NOTED_EVERY:
            with self._sessions.write() as session:
                note_use(session, found.id, at)

    def audit_entries(self, window: Window) -> Page[AuditRecord]:
        with self._sessions.read() as session:
            return audit_entries(session, window)
