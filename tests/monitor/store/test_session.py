from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from monitor.errors import StorageError
from monitor.store import Store
from monitor.store.database import Database
from monitor.store.session import SERVER_DEFAULTS, Sessions
from monitor.store.tables import Model
from tests.forked import FORKED
from tests.monitor.store.material import AT, identity, later, sample, start
from tests.monitor.store.writers import write_runs


@pytest.fixture
def database_url(path: Path) -> str:
    """What is tested here is how SQLite is spoken to."""
    return str(path)


@pytest.fixture
def sessions(path: Path, store: Store) -> Iterator[Sessions]:
    opened = Sessions(Database.named(path))
    yield opened
    opened.close()


def pragma(session: Session, name: str) -> object:
    return session.execute(text(f"PRAGMA {name}")).scalar_one()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 1),
        ("busy_timeout", 5000),
        ("foreign_keys", 1),
        ("journal_size_limit", 64 * 1024 * 1024),
        ("auto_vacuum", 2),
    ],
)
def test_both_kinds_of_session_carry_the_settings(sessions: Sessions, name: str, value: object) -> None:
    with sessions.write() as session:
        assert pragma(session, name) == value
    with sessions.read() as session:
        assert pragma(session, name) == value


def model(slug: str) -> Model:
    return Model(id=f"mdl_{slug}", slug=slug, created_at=AT)


def test_a_writing_session_holds_the_lock_from_its_first_read(sessions: Sessions, path: Path) -> None:
    with sessions.write() as session, closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        session.scalars(select(Model)).all()

        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")


def test_a_reading_session_sees_one_moment_and_holds_nobody_up(sessions: Sessions) -> None:
    with sessions.read() as reader:
        before = reader.scalars(select(Model.slug)).all()
        with sessions.write() as writer:
            writer.add(model("smol"))
        assert reader.scalars(select(Model.slug)).all() == before == []

    with sessions.read() as reader:
        assert reader.scalars(select(Model.slug)).all() == ["smol"]


def test_a_reading_session_refuses_to_flush_a_new_row(sessions: Sessions) -> None:
    with sessions.read() as session:
        session.add(model("smol"))

        with pytest.raises(StorageError, match="reading session was asked to write"):
            session.flush()


def test_a_reading_session_refuses_to_flush_a_change(sessions: Sessions) -> None:
    with sessions.write() as session:
        session.add(model("smol"))

    with sessions.read() as session:
        session.scalars(select(Model)).one().slug = "other"
        with pytest.raises(StorageError, match="reading session was asked to write"):
            session.flush()


def test_a_reading_session_refuses_to_flush_a_deletion(sessions: Sessions) -> None:
    with sessions.write() as session:
        session.add(model("smol"))

    with sessions.read() as session:
        session.delete(session.scalars(select(Model)).one())
        with pytest.raises(StorageError, match="reading session was asked to write"):
            session.flush()


def test_a_reading_session_refuses_a_statement_that_writes(sessions: Sessions) -> None:
    with pytest.raises(StorageError, match="read-only"), sessions.read() as session:
        session.execute(text("DELETE FROM model"))


def write_models(sessions: Sessions, *models: Model) -> None:
    with sessions.write() as session:
        for one in models:
            session.add(one)
            session.flush()


def test_a_failing_block_leaves_nothing_and_its_error_repeats_no_value(sessions: Sessions) -> None:
    twice = Model(id="mdl_2", slug="the private prompt", created_at=AT)

    with pytest.raises(StorageError, match=r"UNIQUE constraint failed: model\.slug") as raised:
        write_models(sessions, model("smol"), model("the private prompt"), twice)

    assert "private prompt" not in f"{raised.value} {raised.value.__cause__}"
    with sessions.read() as session:
        assert session.scalars(select(Model)).all() == []


def test_processes_that_open_and_write_at_once_all_get_through(path: Path) -> None:
    workers = [FORKED.Process(target=write_runs, args=(str(path), f"p{number}", 5)) for number in range(4)]

    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    with Store.open(path, at=AT) as store:
        for number in range(4):
            assert len(store.history(provider=f"p{number}", limit=1000)) == 10


def test_threads_that_share_a_store_all_get_through(store: Store) -> None:
    def write(number: int) -> int:
        endpoint = store.ensure_endpoint(identity(f"p{number % 3}"), at=AT)
        run_id = store.begin_run(start(endpoint.id), at=later(number))
        store.add_samples(run_id, [sample(f"{number}-{i}") for i in range(55)], at=later(number))
        return len(store.exchanges(run_id))

    with ThreadPoolExecutor(8) as pool:
        stored = list(pool.map(write, range(24)))

    assert stored == [55] * 24
    assert store.providers() == ["p0", "p1", "p2"]
    assert len(store.history(limit=1000)) == 24


def parameters(session: Session) -> dict[str, str]:
    connection = session.connection().connection.driver_connection
    assert connection is not None
    found: dict[str, str] = connection.info.get_parameters()
    return found


@pytest.mark.parametrize("own", [{}, {"keepalives_idle": "77", "connect_timeout": "3"}], ids=["no", "yes"])
def test_a_server_that_vanishes_is_given_up_unless_the_url_says_otherwise(
    postgres_url: str, own: dict[str, str]
) -> None:
    wanted = {**{name: str(value) for name, value in SERVER_DEFAULTS.items()}, **own}
    sessions = Sessions(Database.named("&".join([postgres_url, *(f"{name}={value}" for name, value in own.items())])))

    for opened in (sessions.read, sessions.write):
        with opened() as session:
            assert parameters(session).items() >= wanted.items()
    sessions.close()
