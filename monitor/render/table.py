"""A table of words before it is drawn: in a terminal, in Markdown, or on a page."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.drift.rule import Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """A cell a column; `note` is said beneath. The cell of the column "verdict" is that of `verdict`."""

    cells: tuple[str, ...]
    note: str = ""
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """`kind` is what one row is about, `summary` what can be told of all of them in a line, and `after` is said at the
    end, a line each."""

    kind: str
    title: str
    names: tuple[str, ...]
    rows: tuple[Row, ...]
    after: tuple[str, ...] = ()
    summary: str = ""

    def __bool__(self) -> bool:
        return bool(self.rows or self.after)

    @property
    def used(self) -> list[int]:
        """The places of the columns in which something stands."""
        return [place for place, _ in enumerate(self.names) if any(row.cells[place] for row in self.rows)]
