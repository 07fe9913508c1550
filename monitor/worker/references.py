"""The references of one process: each is opened when it is first needed, once, and stays open."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

from monitor.check.reference import OpenReference, open_reference
from monitor.config import ReferenceConfig


class References:
    """Safe to share between threads, which take turns with an engine (`OpenReference.turn`)."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[ReferenceConfig | None, OpenReference] = {}

    def of(self, config: ReferenceConfig | None) -> OpenReference:
        """Raises EngineError where it cannot be opened; it is tried again the next time."""
        if config is None:
            return open_reference(None)
        key = replace(config, allowed_profiles=())
        with self._lock:
            if key not in self._open:
                self._open[key] = open_reference(config)
            return replace(self._open[key], allowed=config.allowed_profiles)

    def close(self) -> None:
        for reference in self._open.values():
            reference.__exit__(None, None, None)
