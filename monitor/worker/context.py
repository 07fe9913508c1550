"""What one process of a worker works with: opened once, and brought up to date with the configuration's objects."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.metadata import version
from threading import Lock
from typing import Self

from monitor import clock
from monitor.check.seed import agree_on_seed
from monitor.datadir import DataDir
from monitor.errors import ConfigError
from monitor.settings import Settings
from monitor.store import Beats, Limits, Queue, Store
from monitor.store.alerts import Alerts
from monitor.store.config import ConfigObjects
from monitor.store.deliveries import Deliveries
from monitor.store.idempotency import Idempotency
from monitor.store.retention import Retention
from monitor.worker.bell import Bell
from monitor.worker.configured import Configured
from monitor.worker.references import References
from monitor.worker.stop_sign import StopSign

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Context:
    """Safe to share between threads."""

    settings: Settings
    store: Store
    bell: Bell
    stop: StopSign
    seed: bytes
    references: References = field(default_factory=References)
    _lock: Lock = field(default_factory=Lock)
    _versions: list[tuple[str, int, int, str | None]] | None = None
    _configured: Configured | None = None

    @classmethod
    def open(cls, settings: Settings, bell: Bell, stop: StopSign) -> Self:
        """Raises StorageError where the database cannot be used, or belongs to another installation's seed."""
        store = Store.open(settings.database, at=clock.now())
        try:
            seed = DataDir(settings.data_dir).seed()
            agree_on_seed(store, seed)
        except BaseException:
            store.close()
            raise
        return cls(settings, store, bell, stop, seed)

    def close(self) -> None:
        self.references.close()
        self.store.close()

    @property
    def queue(self) -> Queue:
        return Queue(self.store.sessions)

    @property
    def limits(self) -> Limits:
        return Limits(self.store.sessions)

    @property
    def beats(self) -> Beats:
        return Beats(self.store.sessions)

    @property
    def alerts(self) -> Alerts:
        return Alerts(self.store.sessions)

    @property
    def deliveries(self) -> Deliveries:
        return Deliveries(self.store.sessions)

    @property
    def retention(self) -> Retention:
        return Retention(self.store.sessions)

    @property
    def idempotency(self) -> Idempotency:
        return Idempotency(self.store.sessions)

    @property
    def lease(self) -> timedelta:
        return timedelta(seconds=self.settings.lease_seconds)

    def configured(self) -> Configured:
        """The configuration as it stands; the last good one where what is stored makes none."""
        with self._lock:
            stored = ConfigObjects(self.store.sessions)
            # Before the objects: what changes in between is found by the next look.
            versions = stored.versions()
            if self._configured is None or versions != self._versions:
                try:
                    self._configured = Configured.of(stored.config(), self.store, clock.now())
                except ConfigError as error:
                    if self._configured is None:
                        raise
                    _log.error("The stored configuration is not used: %s", error.message)
                self._versions = versions
            return self._configured

    def worked(self, name: str, queues: Sequence[str]) -> None:
        """Say that the worker `name` lives, and has finished some work."""
        now = clock.now()
        self.beats.seen(name, "worker", queues, version("endpoint-monitor"), now)
        self.beats.progress(name, now)


class OneContext:
    """The context of this process: opened at the first task, anew in a process that was forked."""

    def __init__(self, open_context: Callable[[], Context]) -> None:
        self._open = open_context
        self._lock = Lock()
        self._pid: int | None = None
        self._context: Context | None = None

    def get(self) -> Context:
        with self._lock:
            if self._context is None or self._pid != os.getpid():
                self._context, self._pid = self._open(), os.getpid()
            return self._context

    def close(self) -> None:
        with self._lock:
            if self._context is not None and self._pid == os.getpid():
                self._context.close()
            self._context = None
