"""What a request may need to be allowed, and which roles allow it."""

from __future__ import annotations

from enum import StrEnum

from monitor.store.vocabulary import Role


class Scope(StrEnum):
    """`admin` holds every other one; every other one holds `read`."""

    READ = "read"
    RUNS_WRITE = "runs:write"
    ALERTS_WRITE = "alerts:write"
    CONFIG_WRITE = "config:write"
    ADMIN = "admin"


_OF_ROLE = {
    Role.VIEWER: frozenset({Scope.READ}),
    Role.OPERATOR: frozenset({Scope.READ, Scope.RUNS_WRITE, Scope.ALERTS_WRITE}),
    Role.ADMIN: frozenset({Scope.ADMIN}),
}


def scopes_of(role: Role) -> frozenset[Scope]:
    return _OF_ROLE[role]


def allows(held: frozenset[Scope], needed: Scope) -> bool:
    return Scope.ADMIN in held or needed in held or (needed is Scope.READ and bool(held))
