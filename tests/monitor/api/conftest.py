"""The API over SQLite, over either database, and over a PostgreSQL that the test may stop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from monitor.store import EndpointRecord, Store
from tests.monitor.api.served import Api, api_over
from tests.monitor.store.material import AT, identity


@pytest.fixture
def api(migrated_sqlite: str) -> Iterator[Api]:
    with Store.open(migrated_sqlite, at=AT) as store:
        yield api_over(store)


@pytest.fixture
def each_api(database_url: str) -> Iterator[Api]:
    """Once over SQLite, once over PostgreSQL."""
    with Store.open(database_url, at=AT) as store:
        yield api_over(store)


@pytest.fixture
def endpoint(api: Api) -> EndpointRecord:
    return api.store.ensure_endpoint(identity(), at=AT)
