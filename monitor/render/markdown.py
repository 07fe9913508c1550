"""The verdict as Markdown, for a pull request or a mail to the provider."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from monitor.verdict import Check, Telling, VerdictDocument


def markdown(document: VerdictDocument) -> str:
    fidelity = document.fidelity
    lines = [
        f"## {_cell(document.provider)} / {_cell(document.model)}: {verdict_word(document.verdict)}",
        "",
        _cell(conclusion(document)),
        "",
        f"{_cell(document.endpoint)} · {document.started_at:%Y-%m-%d %H:%M} UTC · {cost_text(document.cost)}",
        "",
        *_head(*MEASURED, "verdict", "note"),
        *(_row(check, document) for check in document.checks),
        _line(*fidelity_cells(fidelity), verdict_word(fidelity.verdict), fidelity_text(fidelity)),
        *_said(document),
    ]
    if cut := answer_tokens_text(document):
        lines += ["", f"{cut.capitalize()}."]
    lines += _latency(document)
    for check in document.checks:
        for telling in check.telling:
            lines += ["", *_telling(telling, check.unit)]
    if document.quirks:
        lines += ["", "Quirks: " + ", ".join(f"{quirk.name} ×{quirk.count}" for quirk in document.quirks)]
    lines += ["", f"Runs: {', '.join(document.run_ids) or 'not saved'}", ""]
    return "\n".join(lines)


def _said(document: VerdictDocument) -> Iterator[str]:
    for names, rows in said_tables(document):
        yield from _table(names, rows)
    if document.protocol is not None:
        yield ""
        yield from (f"- {name}: {_cell(text)}" for name, text in protocol_rows(document.protocol))


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Nothing where there are no rows."""
    return ["", *_head(*names), *(_line(*cells) for cells in rows)] if rows else []


def _head(*names: str) -> list[str]:
    return [_line(*names), "|" + " --- |" * len(names)]


def _row(check: Check, document: VerdictDocument) -> str:
    note = latency_text(document) if check.probe == "latency" else cause_text(check.causes)
    words = "; ".join(word for word in (check.reason, note) if word)
    return _line(*check_cells(check), verdict_word(check.verdict), words)


def _latency(document: VerdictDocument) -> list[str]:
    """The quantiles of streams under load, and what has moved since."""
    lines = []
    if document.load is not None:
        lines += [*_table(LATENCY, latency_rows(document.latency)), "", _cell(load_text(document.load))]
    return [*lines, *(line for move in document.latency_moves for line in ("", _cell(move_text(move))))]


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
