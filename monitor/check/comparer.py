"""Has endpoints compared by a process of its own, so that no web process holds the statistics; keeps what it found."""

from __future__ import annotations

import json
import pickle
import subprocess
from datetime import datetime
from threading import Lock

from monitor.consensus import ConsensusDocument
from monitor.errors import ServiceFailedError, StorageError
from monitor.service.python import python
from monitor.store.anchors import Anchors, AskedEndpoint, AskedModel

# Of one comparison, and of the wait for those before it.
PATIENCE_S = 30.0
_KEPT = 64

_Key = tuple[str, tuple[AskedEndpoint, ...]]


class Comparer:
    """One process at a time. The same runs are compared once, whatever the time within which they are asked for. Safe
    to share between threads."""

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._lock = Lock()
        self._kept: dict[_Key, ConsensusDocument] = {}

    def compared(self, anchors: Anchors, model: str, since: datetime, until: datetime) -> ConsensusDocument:
        """Raises StorageError for what is damaged, ServiceFailedError where the process ends or takes too long."""
        asked = anchors.asked(model, since, until)
        found = self._kept.get((model, asked.endpoints)) or self._in_turn(anchors, asked)
        return found.model_copy(update={"since": since, "until": until})

    def _in_turn(self, anchors: Anchors, asked: AskedModel) -> ConsensusDocument:
        if not self._lock.acquire(timeout=self._patience_s):
            raise _failed("too many others are before it")
        try:
            key = asked.model, asked.endpoints
            # Somebody before may have asked the same.
            if key not in self._kept:
                found = self._by_process(pickle.dumps((asked, anchors.of(asked.run_ids))))
                if len(self._kept) >= _KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[key] = found
            return self._kept[key]
        finally:
            self._lock.release()

    def _by_process(self, given: bytes) -> ConsensusDocument:
        command = python("monitor.check.consensus_process")
        try:
            ran = subprocess.run(  # noqa: S603 - our own program
                command, input=given, stdout=subprocess.PIPE, timeout=self._patience_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise _failed(f"it took more than {self._patience_s:g} s") from None
        except OSError as error:
            raise _failed(f"no process could be started: {error}") from error
        if ran.returncode == StorageError.exit_code:
            raise StorageError(**json.loads(ran.stdout))
        if ran.returncode != 0:
            raise _failed(f"the process that compares ended with {ran.returncode}")
        return ConsensusDocument.model_validate_json(ran.stdout)


def _failed(why: str) -> ServiceFailedError:
    return ServiceFailedError(f"The endpoints were not compared: {why}.", remedy="Ask again.")


COMPARER = Comparer()
