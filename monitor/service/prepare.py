"""Makes ready what the service's processes find: the database, and the configuration that counts.

A process of its own (`python -m monitor.service.prepare HOST`), so that the supervisor stays as small as it is.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from monitor import clock
from monitor.access.hosts import check_bind
from monitor.access.keys import SigningKey
from monitor.config import Config, inspect_config, may_be_there
from monitor.config.objects import objects_of
from monitor.config.problems import report
from monitor.datadir import DataDir
from monitor.errors import ConfigError
from monitor.service.here import deployment
from monitor.service.preparation import Prepared
from monitor.service.unsafe import check_up
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.access import Access
from monitor.store.config import ConfigObjects
from monitor.store.outbox import record_service_event

ACTOR = "service"
DEGRADED = "monitor.degraded"


def prepare(settings: Settings, host: str, at: datetime) -> Prepared:
    """Create or upgrade the database, and apply the configuration file if there is one.

    A file with problems changes nothing and is reported, unless nothing was ever applied: then ConfigError. Raises
    BindRefusedError where the service may not listen on `host` yet, and UnsafeDeploymentError.
    """
    data = DataDir(settings.data_dir)
    data.create()
    with Store.open(settings.database, at=at) as store:
        check_up(deployment(settings, store, at))
        objects = ConfigObjects(store.sessions)
        note = _apply(settings.config, store, objects, at)
        has_users = Access(store.sessions).has_users()
        check_bind(host, has_users=has_users)
        token = None if has_users else SigningKey.of(settings, data).set_up_token()
        notes = tuple(filter(None, (note, *_next_steps(settings.config, objects.config()))))
        return Prepared(token, notes)


def _apply(path: Path, store: Store, objects: ConfigObjects, at: datetime) -> str | None:
    if not may_be_there(path):
        return None
    try:
        made = objects.apply(objects_of(_read(path)), actor=ACTOR, at=at)
    except ConfigError as error:
        if not objects.all():
            raise
        _report(store, error, at)
        return f"{error.message}\nThe configuration that was applied before stays in force."
    return f"Applied {path}: {len(made.changes)} changes." if made.changes else None


def _read(path: Path) -> Config:
    inspected = inspect_config(path)
    if inspected.config is None:
        raise ConfigError(report(path, inspected.problems), remedy="`monitor config check` checks it again.")
    return inspected.config


def _report(store: Store, error: ConfigError, at: datetime) -> None:
    """The channels hear that the file is not in force; of the same day's failure once."""
    with store.sessions.write() as session:
        record_service_event(
            session, DEGRADED, f"{DEGRADED}:{error.code}:{at:%Y-%m-%d}", at=at, data={"reason": error.code}
        )


def _next_steps(path: Path, config: Config) -> tuple[str, ...]:
    if config.all_endpoints():
        return ()
    if may_be_there(path):
        return (f"No endpoint is monitored yet: add providers to {path}, then `monitor config apply`.",)
    return (
        f"No endpoint is monitored yet. `monitor config init` writes {path}; edit it, then `monitor config apply`: "
        "the service takes it up without a restart.",
    )


def main() -> int:
    """Print one JSON document; an error goes to stderr as a command's does."""
    from monitor.cli.output import EXIT_INTERRUPTED, describe_error, print_error
    from monitor.logs import configure_logging
    from monitor.settings import load_settings

    configure_logging()
    try:
        prepared = prepare(load_settings(), sys.argv[1], clock.now())
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the boundary of a process: what it was is told and given as exit code
        described = describe_error(error)
        print_error(described)
        return described.exit_code
    sys.stdout.write(json.dumps(asdict(prepared)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
