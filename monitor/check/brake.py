"""Stops a check's asking from another thread: its lease is lost, or the worker is to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock


class Brake:
    """Once pulled it stays so: what asks now is cancelled at once, and what would ask later does not begin."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._why: Exception | None = None
        self._cancel: Callable[[], object] | None = None

    def pull(self, why: Exception) -> None:
        """`why` is raised in the thread of the check; only the first one counts."""
        with self._lock:
            if self._why is not None:
                return
            self._why = why
            if self._cancel is not None:
                self._cancel()

    def check(self) -> None:
        """Raises what it was pulled for."""
        if self._why is not None:
            raise self._why

    @contextmanager
    def on_this_task(self) -> Iterator[None]:
        """While the block runs, pulling the brake cancels the running task; raises what it was pulled for."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        with self._lock:
            self.check()
            self._cancel = partial(loop.call_soon_threadsafe, task.cancel) if task else None
        try:
            yield
        except asyncio.CancelledError:
            self.check()
            raise
        finally:
            with self._lock:
                self._cancel = None
