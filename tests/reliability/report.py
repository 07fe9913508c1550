"""Writes what the reliability tests measured into the table of docs/reliability.md: `python -m … MEASURED PAGE`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
_HEAD = ("fault", "on", "times", "lost", "doubled", "longest recovery", "aim")
_DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line for a fault and database; of several measurements the one with most repeats."""
    best: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        key = (row["fault"], _database(row["test"]))
        if key not in best or row["times"] >= best[key]["times"]:
            best[key] = row
    lines = [_line(_HEAD), _line("---" for _ in _HEAD)]
    for (fault, database), row in best.items():
        recovery = f"{row['recovery_s']:.1f} s" if "recovery_s" in row else ""
        lines.append(_line((fault, database, row["times"], row["lost"], row["doubled"], recovery, row["aim"])))
    return "\n".join(lines)


def written_into(page: str, measured: str) -> str:
    """The page with its table replaced."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{measured}\n{END}{after}"


def _database(test: str) -> str:
    named = re.search(r"\[(?:.*-)?(sqlite|postgresql)(?:-.*)?\]", test)
    return _DATABASES[named[1]] if named else ""


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def main(measured: Path, page: Path) -> None:
    if not measured.exists():
        return
    rows = [json.loads(line) for line in measured.read_text("utf-8").splitlines()]
    page.write_text(written_into(page.read_text("utf-8"), table(rows)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
