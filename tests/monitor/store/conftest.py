"""A real database of either kind, opened. Where a test looks into the file itself, it is marked SQLITE."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.redaction import KnownSecrets
from monitor.store import EndpointRecord, Store, text
from tests.monitor.store.material import AT, identity


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of `database_url`, where that is a file."""
    return tmp_path / "monitor.db"


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with Store.open(database_url, at=AT) as opened:
        yield opened


@pytest.fixture
def endpoint(store: Store) -> EndpointRecord:
    return store.ensure_endpoint(identity(), at=AT)


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """A key that this process has resolved; forgotten after the test."""
    known = KnownSecrets()
    known.add("canary-8f31c7")
    monkeypatch.setattr(text, "KNOWN_SECRETS", known)
    return "canary-8f31c7"
