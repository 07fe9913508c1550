"""Recognises who sends a request, and slows down whoever guesses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from monitor.access.actor import ONLOOKER, STRANGER, Actor, Via
from monitor.access.hosts import check_host
from monitor.access.keys import SigningKey
from monitor.access.names import checked_name
from monitor.access.passwords import hash_password, password_matches
from monitor.access.scope import Scope, scopes_of
from monitor.access.sessions import NewSession, cookie_name
from monitor.access.tokens import Token, digest
from monitor.errors import ForbiddenError, TooManyAttemptsError, UnauthorizedError
from monitor.store.access import Access, UserRecord
from monitor.store.limits import Limits

# Of one address, and of one name from any address: enough for a person who has forgotten, nothing for a list of words.
ATTEMPTS_PER_MINUTE = 10.0
ATTEMPTS_AT_ONCE = 10.0

_HOW = "Send `Authorization: Bearer mon_…`; `monitor token create` makes a token."


@dataclass(frozen=True, slots=True)
class Credentials:
    """What of a request tells who sends it. `address` is the peer's; `secure` says whether it came over TLS."""

    authorization: str | None
    cookies: Mapping[str, str]
    host: str | None
    address: str
    secure: bool


class Guard:
    """The rules of access over one database."""

    def __init__(self, access: Access, limits: Limits, key: SigningKey) -> None:
        self._access = access
        self._limits = limits
        self.key = key

    def actor(self, credentials: Credentials, at: datetime) -> Actor:
        """Who sends this. Raises UnauthorizedError for a token that is wrong, TooManyAttemptsError for one too many
        of them, HostForbiddenError where nobody has to sign in yet and the request names another host."""
        if credentials.authorization is not None:
            return self._bearer(credentials.authorization, credentials.address, at)
        session = credentials.cookies.get(cookie_name(secure=credentials.secure))
        if session is not None:
            found = self._access.session_user(digest(session), at)
            if found is not None:
                return _signed_in(found, digest(session))
        if self._access.has_users():
            return STRANGER
        check_host(credentials.host)
        return ONLOOKER

    def _bearer(self, authorization: str, address: str, at: datetime) -> Actor:
        scheme, _, text = authorization.partition(" ")
        token = Token.parse(text.strip()) if scheme.lower() == "bearer" else None
        stored = None if token is None else self._access.token_digest(token.id)
        if token is None or stored is None or not token.matches(stored[1]) or not stored[0].valid(at):
            self._count_attempt(f"token:{address}", at)
            raise UnauthorizedError(
                "The token is unknown, revoked or has expired.", remedy=_HOW, headers={"WWW-Authenticate": "Bearer"}
            )
        self._access.note_use(stored[0], at)
        return Actor(f"token:{token.id}", Via.TOKEN, frozenset(map(Scope, stored[0].scopes)))

    def sign_in(self, name: str, password: str, address: str, at: datetime) -> NewSession:
        """Raises UnauthorizedError for a wrong name or password, which are not told apart, and TooManyAttemptsError
        before anything is compared."""
        # Counted first and taken back after a match: many guesses at one time are not heard either.
        counted = (f"sign-in:{address}", f"sign-in:{hashlib.sha256(name.encode()).hexdigest()}")
        for each in counted:
            self._count_attempt(each, at)
        found = self._access.password_of(name)
        if not password_matches(password, None if found is None else found[1]) or found is None:
            raise UnauthorizedError("The name or the password is wrong.", headers={"WWW-Authenticate": "Bearer"})
        for each in counted:
            self._limits.give_back(each, 1.0, burst=ATTEMPTS_AT_ONCE)
        return self._begin_session(found[0], at)

    def sign_out(self, session: str) -> None:
        """`session` is the cookie's value."""
        self._access.close_session(digest(session))

    def set_up(self, token: str, name: str, password: str, at: datetime) -> NewSession:
        """Make the first user, an admin, and sign in. Raises ForbiddenError where the link is old or was used."""
        known, hashed = checked_name(name), hash_password(password)
        made = self._access.create_first_user(known, hashed, at) if self.key.set_up_valid(token) else None
        if made is None:
            raise ForbiddenError(
                "This set-up link is no longer good: it is old, or there is a user already.",
                remedy="Sign in, or restart `monitor up` for a new link.",
            )
        return self._begin_session(made, at)

    def _begin_session(self, user: UserRecord, at: datetime) -> NewSession:
        session = NewSession.begin(at)
        self._access.open_session(user.id, session.digest, at, session.expires_at)
        return session

    def _count_attempt(self, name: str, at: datetime) -> None:
        wait = self._limits.take_tokens(name, 1.0, per_minute=ATTEMPTS_PER_MINUTE, burst=ATTEMPTS_AT_ONCE, at=at)
        if wait > 0.0:
            raise TooManyAttemptsError(
                "Too many wrong attempts.", remedy="Wait a little.", headers={"Retry-After": str(int(wait) + 1)}
            )


def _signed_in(user: UserRecord, session: str) -> Actor:
    return Actor(f"user:{user.name}", Via.SESSION, scopes_of(user.role), session)


def require(actor: Actor, needed: Scope) -> None:
    """Raises UnauthorizedError for somebody unknown, ForbiddenError for somebody who may not."""
    if actor.may(needed):
        return
    if actor.via is Via.NOBODY:
        raise UnauthorizedError(
            f"This needs a token with the scope {needed.value}.", remedy=_HOW, headers={"WWW-Authenticate": "Bearer"}
        )
    raise ForbiddenError(f"This needs the scope {needed.value}.", remedy="Use a token or a user that has it.")
