"""The verdict as a person reads it in a terminal: what it is, what changed, how sure that is; then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from monitor.drift.rule import Verdict
from monitor.redaction import safe_text
from monitor.render.beside import answer_tokens_text, tables_of
from monitor.render.checks import check_tables
from monitor.render.conclusion import conclusion, details
from monitor.render.latency import latency_text
from monitor.render.table import Row, Table
from monitor.render.wording import cost_text, duration_text, reference_text, telling_rows, verdict_word, with_unit
from monitor.verdict import Check, VerdictDocument

STYLES = {
    Verdict.OK: "green",
    Verdict.SUSPECT: "bold yellow",
    Verdict.DRIFT: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.INAPPLICABLE: "dim",
}
# Nobody reads lines that are longer, whatever the width of a terminal, or of a pipe that has none.
_WIDEST = 110
_GAP = "  "
_INDENT = 4
# Where a figure may be broken: before its interval.
_BREAK = " ["
# What words of several lines need.
_NARROWEST = 16
_PROSE = frozenset({"why", "found"})


def print_verdict(console: Console, document: VerdictDocument, exit_code: int) -> None:
    page = _Page(console)
    page.say(f"{document.provider} / {document.model}", "bold", f"{_GAP}{document.endpoint}")
    page.say(conclusion(document), STYLES[document.verdict])
    for line in details(document):
        page.say(line)
    if document.partial:
        page.say("partial: not everything that was planned was sent", "yellow")
    for check in document.checks:
        _print_telling(page, check)
    for table in check_tables(document.checks, document.fidelity, latency_text(document)):
        page.table(table)
    for table in tables_of(document):
        page.table(table)
    page.gap()
    if cut := answer_tokens_text(document):
        page.say(cut, "dim")
    if document.quirks:
        page.say(
            "quirks (docs/quirks.md): " + ", ".join(f"{quirk.name} ×{quirk.count}" for quirk in document.quirks), "dim"
        )
    took = duration_text(document.finished_at - document.started_at)
    page.say(f"{cost_text(document.cost)}, {took}{'' if document.saved else '; not saved'}", "dim")
    if document.reference is not None:
        page.say(reference_text(document.reference), "dim")
    page.say(verdict_word(document.verdict), STYLES[document.verdict], f"{_GAP}exit {exit_code}")


class _Page:
    """Lines that fit: cells stand in columns, or beneath one another where the console is too narrow for that."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = min(console.width, _WIDEST)

    def gap(self) -> None:
        self._console.print()

    def say(self, text: str, style: str = "", more: str = "", *, indent: int = 0) -> None:
        """`more` goes on in the usual style."""
        told = Text().append(safe_text(text), style).append(safe_text(more))
        self._wrapped(told, indent)

    def whole(self, text: str, style: str = "", *, indent: int = 0) -> None:
        """A line to be copied, which is not broken."""
        self._console.print(Text(" " * indent + safe_text(text), style), soft_wrap=True)

    def table(self, table: Table) -> None:
        if not table:
            return
        self.gap()
        self.say(table.title, "bold")
        if table.rows:
            self._rows(table)
        for line in table.after:
            self.say(line, "dim")

    def _rows(self, table: Table) -> None:
        """Without columns in which nothing stands, and without the names where only these make it too wide."""
        used = table.used
        widths = {place: max(cell_len(text) for text in _column(table, place)) for place in used}
        if table.names[used[-1]] == "name" and sum(widths.values()) + len(_GAP) * (len(used) - 1) > self._width:
            widths.pop(used.pop())
        *firm, last = used
        room = self._width - sum(widths[place] + len(_GAP) for place in firm)
        if room < min(widths[last], _narrowest(table, last)):
            self._stacked(table, used)
            return
        widths[last] = min(widths[last], room)
        self._line([Text(table.names[place], "dim") for place in used], list(widths.values()))
        for row in table.rows:
            self._line(_cells(table, row, used), list(widths.values()))
            if row.note:
                self.say(row.note, "dim", indent=_INDENT)

    def _line(self, cells: Sequence[Text], widths: Sequence[int]) -> None:
        """The last cell may take several lines."""
        *firm, last = cells
        head = Text()
        for cell, width in zip(firm, widths, strict=False):
            head.append_text(cell)
            head.append(" " * (width - cell.cell_len) + _GAP)
        if last.cell_len > widths[-1]:
            last = Text(last.plain.replace(_BREAK, f"\n{_BREAK.lstrip()}"), last.style)
        for line in last.wrap(self._console, widths[-1]) or [Text()]:
            told = head.copy()
            told.append_text(line)
            told.rstrip()
            self._console.print(told, soft_wrap=True)
            head = Text(" " * head.cell_len)

    def _stacked(self, table: Table, used: Sequence[int]) -> None:
        for row in table.rows:
            first, *others = _cells(table, row, used)
            self._wrapped(first, 0)
            for place, cell in zip(used[1:], others, strict=True):
                if cell.plain:
                    self._wrapped(Text(f"{table.names[place]} ", "dim").append_text(cell), _INDENT)
            if row.note:
                self.say(row.note, "dim", indent=_INDENT)

    def _wrapped(self, text: Text, indent: int) -> None:
        for line in text.wrap(self._console, max(1, self._width - indent)):
            line.rstrip()
            self._console.print(Text(" " * indent).append_text(line), soft_wrap=True)


def _column(table: Table, place: int) -> Iterator[str]:
    yield table.names[place]
    yield from (safe_text(row.cells[place]) for row in table.rows)


def _narrowest(table: Table, place: int) -> int:
    if table.names[place] in _PROSE:
        return _NARROWEST
    return max(cell_len(part) for text in _column(table, place) for part in text.split(_BREAK)) + 1


def _cells(table: Table, row: Row, used: Sequence[int]) -> list[Text]:
    return [Text(safe_text(row.cells[place]), _style(table.names[place], row)) for place in used]


def _style(name: str, row: Row) -> str:
    if name != "verdict" or row.verdict is None:
        return "dim" if name == "name" else ""
    return STYLES[row.verdict]


def _print_telling(page: _Page, check: Check) -> None:
    if not check.telling:
        return
    page.gap()
    page.say(f"Most telling prompts of {check.probe}", "bold")
    for telling in check.telling:
        move = with_unit(telling.move, check.unit, signed=check.unit == "token")
        page.say(telling.prompt, "bold", f"{_GAP}moved {move}", indent=2)
        for name, shown in telling_rows(telling):
            page.whole(f"{name:<9} {shown}", indent=_INDENT)
        page.whole(telling.curl, "dim", indent=_INDENT)
