"""People with browsers that run no scripts: they follow links, fill in forms and send them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fastapi.testclient import TestClient

from dashboards.site import create_site
from monitor import clock
from monitor.access.keys import SigningKey
from monitor.access.passwords import hash_password
from monitor.api import ApiState
from monitor.store import Store
from monitor.store.access import Access
from monitor.store.vocabulary import Role
from tests.dashboards.pages import Element, read

PASSWORD = "correct horse battery"  # pragma: allowlist secret


@dataclass
class Rung:
    """A bell that remembers."""

    calls: list[tuple[str, ...]] = field(default_factory=list)

    def ring(self, task: str, *ids: str) -> None:
        self.calls.append((task, *ids))


class Visitor:
    """`get` gives a page; `send` fills in the page's form of an action and sends it, following where it leads."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.response: Any = None
        self.page = Element("", {})

    def get(self, path: str) -> Element:
        return self._seen(self.client.get(path))

    def send(self, action: str, **values: str) -> Element:
        form = self.page.one("form", method="post", action=action)
        hidden = {
            field.attributes["name"]: field.attributes.get("value", "") for field in form.all("input", type="hidden")
        }
        return self._seen(self.client.post(action, data={**hidden, **values}))

    def post(self, path: str, **values: str) -> Element:
        """What no form of ours sends."""
        return self._seen(self.client.post(path, data=values))

    def _seen(self, response: Any) -> Element:
        self.response = response
        html = response.headers.get("content-type", "").startswith("text/html")
        self.page = read(response.text) if html else Element("", {})
        return self.page


class Visitors:
    """`as_(Role.VIEWER)` is signed in; `stranger` is not."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.bell = Rung()
        self.state = ApiState(store, SigningKey(b"k" * 32), self.bell)
        self.site = create_site(self.state)

    @property
    def stranger(self) -> Visitor:
        return Visitor(TestClient(self.site, base_url="http://localhost", raise_server_exceptions=False))

    def add(self, name: str, role: Role) -> None:
        Access(self.store.sessions).create_user(name, role, hash_password(PASSWORD), actor="test", at=clock.now())

    def as_(self, role: Role) -> Visitor:
        self.add(role.value, role)
        visitor = self.stranger
        visitor.get("/sign-in")
        visitor.send("/sign-in", name=role.value, password=PASSWORD)
        assert visitor.response.status_code == 200, visitor.response.text
        return visitor
