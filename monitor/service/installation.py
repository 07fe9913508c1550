"""What `monitor up` holds while it runs, as plain values, and the children that work with it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from monitor.service.broker import Broker
from monitor.service.child import Child
from monitor.service.lock import HeldLock, Running
from monitor.service.python import python

# Checks wait for providers most of the time.
WORKER_THREADS = 8


@dataclass(frozen=True, slots=True)
class Installation:
    """`lock` and `listener` are descriptors. `sockets` is the folder of the children's sockets, `own_sockets` whether
    it goes when the service ends. `broker` (its program) and `reference` (its socket) are None where the environment
    names servers that run already."""

    host: str
    url: str
    log_format: str
    data: str
    lock: int
    listener: int
    sockets: str
    own_sockets: bool
    broker: str | None
    reference: str | None

    @classmethod
    def from_json(cls, text: str) -> Installation:
        return cls(**json.loads(text))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def children(self) -> list[Child]:
        broker = self._broker()
        environment = self._environment(broker)
        found = [] if broker is None else [broker.child(environment)]
        if self.reference is not None:
            pool = python("reference_engine", "pool", "--socket", self.reference)
            found.append(Child("reference", pool, environment, stage=0))
        web = python("monitor", "web", "--fd", str(self.listener))
        threads = ("--pool", "threads", "--concurrency", str(WORKER_THREADS))
        return [
            *found,
            Child("web", web, environment, sockets=(self.listener,)),
            Child("worker", python("monitor", "worker", *threads, "--beat"), environment),
        ]

    def tell(self) -> None:
        """Let `monitor status` and others find what runs."""
        broker = self._broker()
        HeldLock(self.lock).tell(Running(os.getpid(), self.url, None if broker is None else broker.url))

    def leave(self) -> None:
        """Leave no trace of what no longer runs."""
        HeldLock(self.lock).clear()
        if self.own_sockets:
            shutil.rmtree(self.sockets, ignore_errors=True)

    def _broker(self) -> Broker | None:
        if self.broker is None:
            return None
        return Broker(Path(self.broker), Path(self.data) / "broker", Path(self.sockets) / "broker.sock")

    def _environment(self, broker: Broker | None) -> Mapping[str, str]:
        # glibc gives every thread an arena of its own, and what they keep back is a quarter of a worker's memory.
        own = {"PYTHONUNBUFFERED": "1", "MALLOC_ARENA_MAX": "2"}
        if broker is not None:
            own["MONITOR_BROKER_URL"] = broker.url
        if self.reference is not None:
            own["MONITOR_REFERENCE_URL"] = f"unix:{self.reference}"
        return {**os.environ, **own}
