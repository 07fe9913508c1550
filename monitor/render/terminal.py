"""The verdict as a table that a person reads at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from monitor.drift.rule import Verdict
from monitor.redaction import safe_text
from monitor.render.wording import (
    LATENCY,
    MEASURED,
    answer_tokens_text,
    cause_text,
    check_cells,
    conclusion,
    cost_text,
    fidelity_cells,
    fidelity_text,
    latency_rows,
    latency_text,
    load_text,
    move_text,
    protocol_rows,
    said_tables,
    telling_rows,
    verdict_word,
    with_unit,
)
from monitor.verdict import Check, VerdictDocument

_STYLES = {
    Verdict.OK: "green",
    Verdict.SUSPECT: "bold yellow",
    Verdict.DRIFT: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.INAPPLICABLE: "dim",
}


def print_verdict(console: Console, document: VerdictDocument, exit_code: int) -> None:
    seconds = (document.finished_at - document.started_at).total_seconds()
    console.print(
        f"[bold]{_plain(document.provider)} / {_plain(document.model)}[/bold]  {_plain(document.endpoint)}"
        f"  {cost_text(document.cost)}  {seconds:.0f} s"
    )
    console.print(_checks(document))
    _print_latency(console, document)
    for names, rows in said_tables(document):
        console.print(_table(names, rows))
    if cut := answer_tokens_text(document):
        console.print(cut)
    for name, text in protocol_rows(document.protocol) if document.protocol is not None else ():
        console.print(f"{name:<9} {_plain(text)}")
    for check in document.checks:
        _print_telling(console, check)
    if document.quirks:
        console.print("quirks  " + ", ".join(f"{quirk.name} ×{quirk.count}" for quirk in document.quirks))
    style = _STYLES[document.verdict]
    saved = "" if document.saved else " (not saved)"
    partial = " (partial: not everything planned was sent)" if document.partial else ""
    console.print(f"[{style}]{_plain(conclusion(document))}[/{style}]{partial}{saved}  exit {exit_code}")


def _checks(document: VerdictDocument) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for name in (*MEASURED, "verdict", ""):
        table.add_column(name, overflow="fold", no_wrap=name in ("check", "verdict", "p"))
    for check in document.checks:
        table.add_row(*_row(check, latency_text(document) if check.probe == "latency" else ""))
    fidelity = document.fidelity
    table.add_row(*map(escape, fidelity_cells(fidelity)), _verdict(fidelity.verdict), _plain(fidelity_text(fidelity)))
    return table


def _print_latency(console: Console, document: VerdictDocument) -> None:
    """The quantiles of streams under load, which are of several sizes; the others' stand beside their check."""
    if document.load is not None:
        console.print(_table(LATENCY, latency_rows(document.latency)))
        console.print(_plain(load_text(document.load)))
    for move in document.latency_moves:
        console.print(_plain(move_text(move)))


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")
    for cells in rows:
        table.add_row(*map(_plain, cells))
    return table


def _row(check: Check, note: str) -> Sequence[str]:
    causes = cause_text(check.causes)
    words = [word for word in (note, check.reason, f"looks like {causes}" if causes else "") if word]
    return (*map(escape, check_cells(check)), _verdict(check.verdict), _plain("; ".join(words)))


def _verdict(verdict: Verdict) -> str:
    style = _STYLES[verdict]
    return f"[{style}]{verdict_word(verdict)}[/{style}]"


def _print_telling(console: Console, check: Check) -> None:
    if not check.telling:
        return
    console.print(f"\nmost telling prompts of {check.probe}")
    for telling in check.telling:
        move = with_unit(telling.move, check.unit, signed=check.unit == "token")
        console.print(f"  [bold]{_plain(telling.prompt)}[/bold]  moved {move}")
        for name, shown in telling_rows(telling):
            console.print(f"    {name:<9} {_plain(shown)}")
        console.print(f"    {_plain(telling.curl)}", soft_wrap=True, style="dim")
    console.print()


def _plain(text: str) -> str:
    return escape(safe_text(text))
