"""The API over a real database, and clients of it with every kind of token."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fastapi.testclient import TestClient

from monitor.access.keys import SigningKey
from monitor.access.passwords import hash_password
from monitor.access.scope import Scope
from monitor.access.tokens import Token
from monitor.api import ApiState, create_api
from monitor.store import Store
from monitor.store.access import Access, NewToken
from monitor.store.vocabulary import Role

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
PASSWORD = "correct horse battery"  # pragma: allowlist secret
PROBLEM_KEYS = {"type", "title", "status", "detail", "instance", "request_id", "code", "errors"}


@dataclass
class Rung:
    """A bell that remembers."""

    calls: list[tuple[str, ...]] = field(default_factory=list)

    def ring(self, task: str, *ids: str) -> None:
        self.calls.append((task, *ids))


@dataclass
class Api:
    """`as_("runs:write")` is a client with a token of that scope; `anonymous` has none."""

    store: Store
    bell: Rung
    state: ApiState
    app: Any

    @property
    def anonymous(self) -> TestClient:
        return TestClient(self.app, base_url="http://localhost", raise_server_exceptions=False)

    def token(self, *scopes: str, expires_at: datetime | None = None) -> str:
        token = Token.new(NOW)
        new = NewToken(token.id, "test", token.digest, tuple(map(str, scopes)), "test", expires_at)
        Access(self.store.sessions).create_token(new, NOW)
        return token.text

    def as_(self, *scopes: str) -> TestClient:
        client = self.anonymous
        client.headers["Authorization"] = f"Bearer {self.token(*scopes)}"
        return client

    @property
    def admin(self) -> TestClient:
        return self.as_(Scope.ADMIN)

    def add_user(self, name: str = "alice", role: Role = Role.ADMIN) -> None:
        hashed = hash_password(PASSWORD)
        Access(self.store.sessions).create_user(name, role, hashed, actor="test", at=NOW)


def api_over(store: Store) -> Api:
    bell = Rung()
    state = ApiState(store, SigningKey(b"k" * 32), bell)
    return Api(store, bell, state, create_api(state))


def assert_problem(response: Any, status: int, code: str) -> dict[str, Any]:
    """The one form of an error."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert set(document) == PROBLEM_KEYS
    assert document["type"] == f"/api/errors#{code}"
    assert (document["status"], document["code"]) == (status, code)
    assert document["title"]
    assert document["detail"]
    assert document["request_id"] == response.headers["x-request-id"]
    for error in document["errors"]:
        assert set(error) == {"pointer", "code", "detail"}
        assert error["pointer"].split("/")[1] in ("body", "query", "path", "header")
    return document
