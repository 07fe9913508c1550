"""Which mixes of database, broker and hosts the service refuses: pure rules, each with what would be right."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from monitor.access.hosts import is_loopback
from monitor.errors import UnsafeDeploymentError

_KINDS = ("redis", "rediss", "redis+socket")
_SERVER = "Give the service a PostgreSQL database by MONITOR_DATABASE_URL; everything else may stay as it is."


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a process of the service is about to work with. `host` is its machine, `worker_hosts` are those on which
    workers of the same database lived lately."""

    sqlite: bool
    broker_url: str | None = field(repr=False)
    host: str
    worker_hosts: Collection[str] = ()


def check_worker(deployment: Deployment) -> None:
    """Before a worker or beat starts. Raises UnsafeDeploymentError."""
    if deployment.broker_url is None:
        raise UnsafeDeploymentError(
            "There is no broker: MONITOR_BROKER_URL is not set, so that no worker would ever be woken.",
            remedy="Set it to a Redis or Valkey server such as redis://127.0.0.1:6379/0, or run `monitor up`, which "
            "brings its own.",
        )
    check_up(deployment)


def check_up(deployment: Deployment) -> None:
    """Before `monitor up` starts, which brings a broker where none is named. Raises UnsafeDeploymentError."""
    check_web(deployment)
    others = sorted(set(deployment.worker_hosts) - {deployment.host})
    if deployment.sqlite and others:
        raise UnsafeDeploymentError(
            f"Workers on {', '.join(others)} use this SQLite database, and this is {deployment.host}: its locks do not "
            "reach from one machine to the other.",
            remedy=_SERVER,
        )


def check_web(deployment: Deployment) -> None:
    """Before a web process starts, which can do without a broker. Raises UnsafeDeploymentError."""
    if deployment.broker_url is None:
        return
    kind = urlsplit(deployment.broker_url).scheme
    if kind not in _KINDS:
        raise UnsafeDeploymentError(
            f"Brokers of kind {kind or 'none'} are not supported.",
            remedy="MONITOR_BROKER_URL names a Redis or Valkey server: redis://, rediss:// or redis+socket://.",
        )
    if deployment.sqlite and not is_local(deployment.broker_url):
        raise UnsafeDeploymentError(
            "The broker is on another machine while the database is a SQLite file of this one: a worker there would "
            "work on a database of its own.",
            remedy=_SERVER,
        )


def is_sqlite(database: Path | str) -> bool:
    """Whether `database`, as `Settings.database` gives it, is a file."""
    return isinstance(database, Path) or urlsplit(database).scheme.partition("+")[0] != "postgresql"


def is_local(broker_url: str) -> bool:
    """Whether a broker can only be reached from this machine, as far as its URL tells."""
    parts = urlsplit(broker_url)
    return parts.scheme == "redis+socket" or is_loopback(parts.hostname or "localhost")
