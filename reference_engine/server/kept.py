"""The last few models that were asked for, open; the longest unused makes room for the next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from reference_engine.errors import EngineError
from reference_engine.server.users import Users

T = TypeVar("T")

Stamp = tuple[tuple[str, int, int, int], ...]
_READ = frozenset({".safetensors", ".json", ".jinja"})


@dataclass(frozen=True, slots=True)
class Opened(Generic[T]):
    """`revision` is the same exactly where the same question has the same answer."""

    backend: T
    revision: str
    users: Users = field(default_factory=Users, compare=False)

    def of_revision(self, wanted: str | None) -> T:
        """Raises EngineError where a caller has begun with other weights, or other arithmetic, than these."""
        if wanted not in (None, self.revision):
            raise EngineError(
                "The model has changed since it was opened, or the service computes in another way.",
                remedy="Start again.",
            )
        return self.backend


class Kept(Generic[T]):
    """`locate` gives the path of a named model, or raises.

    `at_hand` is safe for several threads; `get`, which opens and closes, is for the one thread that computes. What has
    users is closed when they have left, and only where nothing else can make room.
    """

    def __init__(
        self,
        locate: Callable[[str], Path],
        open_one: Callable[[Path], Opened[T]],
        close_one: Callable[[T], None],
        most: int,
    ) -> None:
        self._locate = locate
        self._open = open_one
        self._close = close_one
        self._most = most
        self._kept: OrderedDict[Path, tuple[Stamp, Opened[T]]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def at_hand(self, model: str) -> Opened[T] | None:
        """The model if it is open and its files have not changed."""
        path = self._locate(model)
        stamp = _stamp(path)
        with self._lock:
            kept = self._kept.get(path)
            if kept is None or kept[0] != stamp:
                return None
            self._kept.move_to_end(path)
            return kept[1]

    def get(self, model: str) -> Opened[T]:
        """Closes what is in the way before it opens, so that there are never more than may be kept."""
        found = self.at_hand(model)
        if found is None:
            path = self._locate(model)
            self._make_room(path)
            stamp = _stamp(path)
            found = self._open(path)
            with self._lock:
                self._kept[path] = (stamp, found)
        return found

    def close(self) -> None:
        self._shrink_to(0)

    def _make_room(self, path: Path) -> None:
        with self._lock:
            changed = self._kept.pop(path, None)
        if changed is not None:
            self._end(changed[1])
        self._shrink_to(self._most - 1)

    def _shrink_to(self, count: int) -> None:
        while len(self._kept) > count:
            with self._lock:
                unused = (path for path, (_, opened) in self._kept.items() if not opened.users.any)
                _, leaving = self._kept.pop(next(unused, next(iter(self._kept))))
            self._end(leaving)

    def _end(self, opened: Opened[T]) -> None:
        opened.users.see_off()
        self._close(opened.backend)


def _stamp(path: Path) -> Stamp:
    """What shows that a model's files were replaced: a file's own identity, size and time, or those of a folder's."""
    files = [path]
    if path.is_dir() or path.suffix == ".json":
        folder = path if path.is_dir() else path.parent
        files = sorted(one for one in folder.iterdir() if one.suffix in _READ)
    stats = [(file.name, file.stat()) for file in files if file.exists()]
    return tuple((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats)
