"""The references of one process: each is opened when it is first needed, once, and stays open until it is another."""

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
        if config is None or config.endpoint is not None:  # nothing to keep open
            return open_reference(config)
        key = replace(config, allowed_profiles=())
        known = self._open.get(key)
        if known is None or not known.is_current():
            known = self._renewed(key, config, known)
        return replace(known, allowed=config.allowed_profiles)

    def close(self) -> None:
        for reference in self._open.values():
            reference.__exit__(None, None, None)

    def _renewed(self, key: ReferenceConfig, config: ReferenceConfig, known: OpenReference | None) -> OpenReference:
        """Opened again unless another thread was quicker. The old one is left to whoever uses it still."""
        with self._lock:
            if self._open.get(key) is known:
                self._open[key] = open_reference(config)
            return self._open[key]
