"""What a database is sent meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def statements() -> Iterator[list[str]]:
    sent: list[str] = []

    def listen(*given: Any) -> None:
        sent.append(given[2])

    event.listen(Engine, "before_cursor_execute", listen)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", listen)
