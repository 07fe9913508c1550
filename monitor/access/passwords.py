"""Passwords: hashed with argon2id, and never short."""

from __future__ import annotations

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from monitor.errors import UsageError

SHORTEST = 10
LONGEST = 1024

_hasher = PasswordHasher()


@cache
def _nobodys() -> str:
    """Checked where there is no such user, so that an answer takes as long for a name that exists as for one that does
    not."""
    return _hasher.hash("nobody's password")


def hash_password(password: str) -> str:
    """Raises UsageError for one that is too short to be any use, or too long to be a password."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(
            f"The password has {len(password)} characters.", remedy=f"Choose one of {SHORTEST} to {LONGEST}."
        )
    return _hasher.hash(password)


def password_matches(password: str, stored_hash: str | None) -> bool:
    """False at once only for what nobody can have set; None stands for a user that does not exist."""
    if len(password) > LONGEST:
        return False
    try:
        return _hasher.verify(stored_hash or _nobodys(), password) and stored_hash is not None
    except (Argon2Error, InvalidHashError):
        return False
