"""A service for each test, and a place for what the tests measure."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.service import Service

Measured = Callable[..., None]


@pytest.fixture
def service(tmp_path: Path, database_url: str, valkey_url: str) -> Iterator[Service]:
    """Over SQLite, and over PostgreSQL."""
    made = Service(tmp_path, database_url, valkey_url)
    yield made
    made.close()


@pytest.fixture
def sqlite_service(tmp_path: Path, valkey_url: str) -> Iterator[Service]:
    made = Service(tmp_path, f"sqlite:///{tmp_path / 'monitor.db'}", valkey_url)
    yield made
    made.close()


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Measured:
    """Notes a row of docs/reliability.md in the file that RELIABILITY_REPORT names, if it names one."""

    def note(**facts: Any) -> None:
        path = os.environ.get("RELIABILITY_REPORT")
        if path is not None:
            row = {"test": request.node.name, **facts}
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    return note
