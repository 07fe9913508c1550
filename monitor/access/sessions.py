"""Signed-in browsers: the cookie, and how long it lasts."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.access.tokens import digest

LIFETIME = timedelta(days=14)

_PLAIN = "monitor_session"
# Browsers take a cookie of this prefix only over TLS, for this host, and from nobody else.
_SECURE = "__Host-monitor_session"


def cookie_name(*, secure: bool) -> str:
    return _SECURE if secure else _PLAIN


@dataclass(frozen=True, slots=True)
class NewSession:
    """`value` goes into the cookie; only its digest is stored."""

    value: str
    expires_at: datetime

    @classmethod
    def begin(cls, at: datetime) -> NewSession:
        return cls(secrets.token_urlsafe(32), at + LIFETIME)

    @property
    def digest(self) -> str:
        return digest(self.value)

    def cookie(self, *, secure: bool) -> str:
        """The value of the Set-Cookie header."""
        attributes = f"Path=/; Max-Age={int(LIFETIME.total_seconds())}; HttpOnly; SameSite=Lax"
        return f"{cookie_name(secure=secure)}={self.value}; {attributes}{'; Secure' if secure else ''}"


def ended_cookie(*, secure: bool) -> str:
    """The Set-Cookie header that makes a browser forget its session."""
    attributes = f"Path=/; Max-Age=0; HttpOnly; SameSite=Lax{'; Secure' if secure else ''}"
    return f"{cookie_name(secure=secure)}=; {attributes}"
