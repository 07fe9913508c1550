"""Real servers for tests: PostgreSQL and Valkey, one of each per session, stopped at its end."""

import pytest

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
