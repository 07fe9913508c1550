"""Mixes of database, broker and hosts that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import UnsafeDeploymentError
from monitor.service.unsafe import Deployment, check_web, check_worker, is_local, is_sqlite

LOCAL = ("redis://127.0.0.1:6379/0", "redis://localhost", "redis://[::1]:6379", "redis+socket:///run/broker.sock")
REMOTE = ("redis://broker.example:6379/0", "rediss://:secret@10.0.0.7:6379", "redis://user@192.0.2.1")


def test_a_worker_needs_a_broker() -> None:
    with pytest.raises(UnsafeDeploymentError, match="MONITOR_BROKER_URL is not set"):
        check_worker(Deployment(sqlite=False, broker_url=None, host="a"))


def test_a_web_process_does_not() -> None:
    check_web(Deployment(sqlite=True, broker_url=None, host="a"))


@pytest.mark.parametrize("url", REMOTE)
def test_a_remote_broker_needs_a_server_as_database(url: str) -> None:
    for check in (check_worker, check_web):
        check(Deployment(sqlite=False, broker_url=url, host="a"))
        with pytest.raises(UnsafeDeploymentError, match="on another machine") as refused:
            check(Deployment(sqlite=True, broker_url=url, host="a"))
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", LOCAL)
def test_a_local_broker_goes_with_either(url: str) -> None:
    for sqlite in (True, False):
        check_worker(Deployment(sqlite=sqlite, broker_url=url, host="a", worker_hosts={"a"}))


@given(st.sets(st.sampled_from(["a", "b", "c"])))
def test_workers_of_several_hosts_need_a_server(hosts: set[str]) -> None:
    check_worker(Deployment(sqlite=False, broker_url=LOCAL[0], host="a", worker_hosts=hosts))
    if hosts <= {"a"}:
        check_worker(Deployment(sqlite=True, broker_url=LOCAL[0], host="a", worker_hosts=hosts))
    else:
        with pytest.raises(UnsafeDeploymentError, match="do not reach from one machine to the other"):
            check_worker(Deployment(sqlite=True, broker_url=LOCAL[0], host="a", worker_hosts=hosts))


@pytest.mark.parametrize("url", ["amqp://localhost", "memory://", "sqla+sqlite:///x.db", "filesystem://", "nonsense"])
def test_another_kind_of_broker_is_refused(url: str) -> None:
    with pytest.raises(UnsafeDeploymentError, match="are not supported"):
        check_worker(Deployment(sqlite=False, broker_url=url, host="a"))


def test_which_brokers_are_local() -> None:
    assert all(map(is_local, LOCAL))
    assert not any(map(is_local, REMOTE))


@pytest.mark.parametrize(
    ("database", "sqlite"),
    [
        (Path("monitor.db"), True),
        ("sqlite:////var/lib/monitor.db", True),
        ("postgresql://u@h/n", False),
        ("postgresql+psycopg://u@h/n", False),
    ],
)
def test_which_databases_are_files(database: Path | str, sqlite: bool) -> None:
    assert is_sqlite(database) is sqlite
