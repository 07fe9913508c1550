"""Who sends a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from monitor.access.scope import Scope, allows


class Via(StrEnum):
    """How an actor was recognised; only a session comes with a browser, which sends it along unasked."""

    NOBODY = "nobody"
    TOKEN = "token"  # noqa: S105 - a word
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Actor:
    """`name` stands in the audit log: `token:tok_…`, `user:NAME`, or `anonymous`. `session` is the digest of a
    session's id, which its CSRF tokens are bound to."""

    name: str
    via: Via
    scopes: frozenset[Scope] = field(default_factory=frozenset)
    session: str = ""

    def may(self, needed: Scope) -> bool:
        return allows(self.scopes, needed)


STRANGER = Actor("anonymous", Via.NOBODY)
# Before the first user exists, whoever reaches the loopback address may look.
ONLOOKER = Actor("anonymous", Via.NOBODY, frozenset({Scope.READ}))
