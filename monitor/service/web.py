"""What a web process works with: opened as the environment says."""

from __future__ import annotations

from functools import cached_property

from monitor import clock
from monitor.access.keys import SigningKey
from monitor.api import ApiState
from monitor.datadir import DataDir
from monitor.settings import Settings
from monitor.store import Store
from monitor.worker.bell import Bell, CeleryBell, SilentBell


def open_state(settings: Settings) -> ApiState:
    """Its store is the caller's to close."""
    data = DataDir(settings.data_dir)
    data.create()
    store = Store.open(settings.database, at=clock.now())
    return ApiState(store, SigningKey.of(settings, data), _bell(settings), settings.external_url)


def broker_url_of(settings: Settings) -> str | None:
    return None if settings.broker_url is None else settings.broker_url.get_secret_value()


def _bell(settings: Settings) -> Bell:
    """Without a broker the workers, who have one, find what is to be done a little later."""
    if settings.broker_url is None:
        return SilentBell()
    return _LateBell(settings)


class _LateBell:
    """Loads Celery when it is rung for the first time: most web processes only show, and it is a tenth of one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def ring(self, task: str, *ids: str) -> None:
        self._bell.ring(task, *ids)

    @cached_property
    def _bell(self) -> CeleryBell:
        from monitor.worker.app import make_app

        return CeleryBell(make_app(self._settings))
