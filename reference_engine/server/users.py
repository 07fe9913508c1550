"""Who is in the middle of something with an open model, so that it is not closed under them."""

from __future__ import annotations

import threading


class Users:
    """Safe for several threads. Nobody who is in may wait for whoever sees them off."""

    def __init__(self) -> None:
        self._count = 0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def any(self) -> bool:
        return self._count > 0

    def enter(self) -> bool:
        """Whether it is still open; who came in has to leave."""
        with self._changed:
            if not self._closed:
                self._count += 1
            return not self._closed

    def leave(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def see_off(self) -> None:
        """Lets nobody in any more, and waits for those who are."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._count == 0)
