from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.service import Service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Over SQLite, without a broker."""
    made = Service(tmp_path, f"sqlite:///{tmp_path / 'monitor.db'}", "redis://127.0.0.1:1/0", lease=30.0)
    yield made
    made.close()
