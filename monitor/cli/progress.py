"""A progress bar on stderr where a terminal is attached, and silence where none is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from monitor.check.options import Progress, Silent


class _Bar:
    def __init__(self, shown: RichProgress) -> None:
        self._shown = shown
        self._task = shown.add_task("loading the reference", total=None)

    def begin(self, steps: int, what: str) -> None:
        self._shown.update(self._task, total=steps, completed=0, description=what)

    def step(self, what: str) -> None:
        self._shown.update(self._task, advance=1, description=what)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    if not sys.stderr.isatty():
        yield Silent()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as shown:
        yield _Bar(shown)
