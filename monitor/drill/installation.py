"""The drill's own installation: a database, a worker within this process, and one endpoint, all gone afterwards.

So that nothing of a drill is left in the service's own lists, and a drill that is cut off pages nobody later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from monitor import clock
from monitor.config.document import Document
from monitor.config.load import inspect_document
from monitor.config.objects import FileObject, objects_of
from monitor.config.problems import report
from monitor.datadir import DataDir
from monitor.deliveries.notice import NoticeType
from monitor.deliveries.wording import DRILL
from monitor.drill.channels import Chosen
from monitor.errors import ConfigError
from monitor.settings import load_settings
from monitor.store.config import ConfigObjects
from monitor.worker.context import Context
from monitor.worker.execute import execute
from monitor.worker.names import DELIVER, EXECUTE, FAN_OUT
from monitor.worker.notify import deliver, fan_out
from monitor.worker.stop_sign import StopSign

NAME = "drill"
_AT_ONCE = "1ms"
_HEARD = [NoticeType.FIRING.value, NoticeType.RESOLVED.value]

_TASKS: dict[str, Callable[..., object]] = {
    EXECUTE: execute,
    FAN_OUT: lambda context: fan_out(context, clock.now()),
    DELIVER: lambda context, delivery_id: deliver(context, delivery_id, clock.now()),
}


class BellAtHome:
    """Heard in this process: `work_off` does what it rang for, as the tasks of a worker would."""

    def __init__(self) -> None:
        self._rung: deque[tuple[str, tuple[str, ...]]] = deque()

    def make(self, context: Context, check_id: str) -> None:
        """Make one check; what it leads to is rung for."""
        execute(context, check_id)

    def ring(self, task: str, *ids: str) -> None:
        self._rung.extend([(task, (one,)) for one in ids] or [(task, ())])

    def work_off(self, context: Context) -> None:
        while self._rung:
            task, ids = self._rung.popleft()
            _TASKS[task](context, *ids)


@contextmanager
def drill_installation(folder: Path, base_url: str, channels: Chosen) -> Iterator[tuple[Context, BellAtHome]]:
    """Configured for an endpoint at `base_url`, and for `channels` alone."""
    data, bell = DataDir(folder / "data"), BellAtHome()
    data.create()
    own = {"data_dir": data.path, "database_url": None, "broker_url": None}
    context = Context.open(load_settings().model_copy(update=own), bell, StopSign())
    try:
        ConfigObjects(context.store.sessions).apply(_objects(base_url, channels), actor=NAME, at=clock.now())
        yield context, bell
    finally:
        context.close()


def _objects(base_url: str, channels: Chosen) -> Sequence[FileObject]:
    inspected = inspect_document(Document(_document(base_url, channels), {}), channels.path)
    if inspected.config is None:
        raise ConfigError(report(channels.path, inspected.problems), remedy="`monitor config check` checks it again.")
    return objects_of(inspected.config)


def _document(base_url: str, channels: Chosen) -> dict[str, Any]:
    served = {"model": "smol", "name": "smol", "labels": {DRILL: "true"}}
    return {
        "version": 1,
        "models": {"smol": {"reference": {"weights": "bundled", "allowed_profiles": ["bf16"]}}},
        "providers": [{"slug": NAME, "base_url": base_url, "allow_private": True, "models": [served]}],
        # Its checks are entered by the drill.
        "schedules": [{"id": NAME, "cron": "0 0 1 1 *"}],
        "rules": [{"id": NAME, "severity": "info"}],
        "channels": [{**body, "events": _HEARD} for body in channels.bodies],
        "routes": [{"id": NAME, "to": list(channels.ids), "group_wait": _AT_ONCE, "group_interval": _AT_ONCE}],
    }
