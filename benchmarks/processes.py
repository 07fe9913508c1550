"""Processes and all that they started, as the kernel counts them."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def family(root: int) -> set[int]:
    """A process and everything below it."""
    parents = {int(path.name): _parent(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def cpu_seconds(root: int) -> float:
    """What a process and those below it have used, ended children included."""
    return sum(_cpu_ticks(pid) for pid in family(root)) / _TICKS


def _parent(path: Path) -> int | None:
    fields = _fields(path)
    return int(fields[1]) if fields else None


def _cpu_ticks(pid: int) -> int:
    fields = _fields(Path(f"/proc/{pid}"))
    return sum(map(int, fields[11:15]))


def _fields(path: Path) -> list[str]:
    """From the third field of `stat` on; none where the process has ended."""
    try:
        return (path / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
