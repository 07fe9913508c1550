"""The verdict as Markdown, for a pull request or a mail to the provider."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.redaction import safe_text
from monitor.render.beside import answer_tokens_text, tables_of
from monitor.render.checks import check_tables
from monitor.render.conclusion import conclusion, details
from monitor.render.latency import latency_text
from monitor.render.table import Table
from monitor.render.wording import cost_text, reference_text, telling_rows, verdict_word, with_unit
from monitor.verdict import Telling, VerdictDocument


def markdown(document: VerdictDocument) -> str:
    lines = [
        f"## {_cell(document.provider)} / {_cell(document.model)}: {verdict_word(document.verdict)}",
        "",
        f"**{_cell(conclusion(document))}**",
        "",
        f"{_cell(document.endpoint)}, {document.started_at:%Y-%m-%d %H:%M} UTC",
    ]
    lines += [line for detail in details(document) for line in ("", _cell(detail))]
    if document.partial:
        lines += ["", "Partial: not everything that was planned was sent."]
    for check in document.checks:
        for telling in check.telling:
            lines += ["", *_telling(telling, check.unit)]
    for table in (*check_tables(document.checks, document.fidelity, latency_text(document)), *tables_of(document)):
        lines += _table(table)
    if cut := answer_tokens_text(document):
        lines += ["", f"{cut.capitalize()}."]
    if document.quirks:
        lines += ["", "Quirks: " + ", ".join(f"{quirk.name} ×{quirk.count}" for quirk in document.quirks)]
    lines += ["", f"{cost_text(document.cost).capitalize()}.", ""]
    if document.reference is not None:
        lines += [f"Beside it the {_cell(reference_text(document.reference))}.", ""]
    return "\n".join([*lines, f"Runs: {', '.join(document.run_ids) or 'not saved'}", ""])


def _table(table: Table) -> Iterator[str]:
    """With a column of notes, where a row has one, and without columns in which nothing stands."""
    if not table:
        return
    yield from ("", f"### {table.title}")
    if table.rows:
        noted = any(row.note for row in table.rows)
        used = table.used
        yield from ("", _line(*(table.names[place] for place in used), *["note"] * noted))
        yield "|" + " --- |" * (len(used) + noted)
        for row in table.rows:
            yield _line(*(row.cells[place] for place in used), *[row.note] * noted)
    for line in table.after:
        yield from ("", _cell(line))


def _line(*cells: str) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _telling(telling: Telling, unit: str | None) -> list[str]:
    fence = "````"
    return [
        f"**{_cell(telling.prompt)}** moved {with_unit(telling.move, unit, signed=unit == 'token')}",
        "",
        *(f"- {name}: {_cell(shown)}" for name, shown in telling_rows(telling)),
        "",
        f"{fence}sh",
        safe_text(telling.curl),
        fence,
    ]


def _cell(text: str) -> str:
    """Text that cannot leave its table cell or become markup."""
    plain = safe_text(text).replace("\n", " ").replace("\t", " ")
    return "".join(f"\\{character}" if character in "\\`*_|<>[]" else character for character in plain)
