"""`/healthz`, `/readyz` and `/metrics` over a real database and a real broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from monitor import clock
from monitor.service.health import health_routes
from monitor.store import Beats, Store
from monitor.worker.canary import CONNECTIVITY, Connectivity
from monitor.worker.tick import TICKING, Ticking
from tests.monitor.api.served import Api, api_over, assert_problem
from tests.servers.postgres import Postgres

NOBODY = "redis+socket:///nobody/listens/here"
MakeApi = Callable[[str | None], Api]


@pytest.fixture
def health(tmp_path: Path) -> Iterator[MakeApi]:
    with Store.open(tmp_path / "monitor.db", at=clock.now()) as store:

        def make(broker_url: str | None) -> Api:
            api = api_over(store)
            api.app.include_router(health_routes(api.state, broker_url))
            return api

        yield make


def work(api: Api, *, seconds_ago: float = 0) -> None:
    """As if a worker had executed a tick and a canary."""
    at = clock.now() - timedelta(seconds=seconds_ago)
    beats = Beats(api.store.sessions)
    beats.put_setting(TICKING, Ticking(at, at).to_json(), at)
    beats.put_setting(CONNECTIVITY, Connectivity(at).to_json(), at)


def test_a_process_that_serves_is_healthy(health: MakeApi) -> None:
    answer = health(None).anonymous.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_without_work_it_is_ready_but_not_deeply(health: MakeApi) -> None:
    client = health(NOBODY).anonymous

    assert client.get("/readyz").status_code == 200
    problem = assert_problem(client.get("/readyz?deep=1"), 503, "not_ready")
    assert [error["code"] for error in problem["errors"]] == ["broker", "tick", "canary"]


def test_with_a_broker_and_executed_tasks_it_is_deeply_ready(health: MakeApi, valkey_url: str) -> None:
    api = health(valkey_url)
    work(api)
    assert api.anonymous.get("/readyz?deep=1").json() == {"status": "ready"}


def test_old_work_is_none(health: MakeApi, valkey_url: str) -> None:
    api = health(valkey_url)
    work(api, seconds_ago=90)

    problem = assert_problem(api.anonymous.get("/readyz?deep=1"), 503, "not_ready")

    assert [error["code"] for error in problem["errors"]] == ["tick"]
    assert problem["detail"].startswith("The last tick was executed 9")


def test_a_database_that_is_away_means_not_ready_and_healthy(own_postgres: Postgres) -> None:
    with Store.open(own_postgres.create_database("health"), at=clock.now()) as store:
        api = api_over(store)
        api.app.include_router(health_routes(api.state, None))
        assert api.anonymous.get("/readyz").status_code == 200

        own_postgres.stop()

        assert api.anonymous.get("/healthz").status_code == 200
        problem = assert_problem(api.anonymous.get("/readyz"), 503, "not_ready")
        assert [error["code"] for error in problem["errors"]] == ["database"]


def test_metrics_are_open_until_there_is_a_user(health: MakeApi) -> None:
    api = health(None)
    answer = api.anonymous.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")

    api.add_user()

    assert_problem(api.anonymous.get("/metrics"), 401, "unauthorized")
    assert api.as_("read").get("/metrics").status_code == 200


def test_metrics_are_read_from_the_database_no_more_often_than_every_ten_seconds(health: MakeApi) -> None:
    api = health(None)
    before = api.anonymous.get("/metrics").text

    Beats(api.store.sessions).seen("w@h", "worker", ["probe"], "1", clock.now())

    assert api.anonymous.get("/metrics").text == before
