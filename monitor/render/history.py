"""A history of checks as a table, as a JSON document, and as CSV that a spreadsheet cannot take for formulas."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from monitor.check.recall import said_of
from monitor.drift.rule import Verdict
from monitor.redaction import safe_text
from monitor.render.wording import cause_text, number, p_text, with_interval
from monitor.store import CheckRecord, CheckRun, EvidenceRecord, RunStatus

SCHEMA = "monitor.history/1"

_ENROLLED = ("+", "enrolled", "cyan")
_FAILED = ("E", "error", "bold magenta")
_RUNNING = ("~", "running", "dim")
_MARKS = {
    Verdict.OK: ("O", "ok", "green"),
    Verdict.SUSPECT: ("S", "SUSPECT", "bold yellow"),
    Verdict.DRIFT: ("D", "DRIFT", "bold red"),
    Verdict.INCONCLUSIVE: ("?", "inconclusive", "yellow"),
    Verdict.INAPPLICABLE: ("-", "inapplicable", "dim"),
}
# What a spreadsheet may take for a formula (OWASP, CSV injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

_CSV_COLUMNS = (
    "time", "provider", "model", "served_name", "verdict", "fidelity_nat", "fidelity_low", "fidelity_high", "drift_p",
    "tokens_in", "tokens_out", "cost_usd", "notes", "check_id", "run_ids",
)  # fmt: skip


def history_table(checks: Sequence[CheckRecord]) -> Table:
    """One line a check. Colour, letter and word say the same, so that none of them is needed."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("time (UTC)", no_wrap=True)
    table.add_column("model", overflow="fold", min_width=8)
    table.add_column("verdict", no_wrap=True)
    table.add_column("fidelity (nat)", min_width=14)
    table.add_column("drift p", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("cost", justify="right", no_wrap=True)
    table.add_column("notes", overflow="fold", min_width=8)
    models = _models(checks)
    for check in checks:
        letter, word, style = mark(check)
        table.add_row(
            check.at.strftime("%Y-%m-%d %H:%M"),
            Text(safe_text(models[check.endpoint.id])),
            Text(f"{letter} {word}", style),
            _fidelity_cell(fidelity_of(check)),
            p_text(drift_p(check)),
            _tokens_cell(check),
            _cost_cell(check.cost_microusd),
            Text(safe_text(notes(check))),
        )
    return table


def mark(check: CheckRecord) -> tuple[str, str, str]:
    """Letter, word and style of what a check came to."""
    if check.verdict in (Verdict.DRIFT, Verdict.SUSPECT, Verdict.OK):
        return _MARKS[check.verdict]
    if check.enrolled:
        return _ENROLLED
    if check.verdict is not None:
        return _MARKS[check.verdict]
    return _FAILED if all(part.run.status.finished for part in check.runs) else _RUNNING


def fidelity_of(check: CheckRecord) -> EvidenceRecord | None:
    return next((found for found in check.evidence if found.metric == "fidelity" and found.value is not None), None)


def drift_p(check: CheckRecord) -> float | None:
    """The smallest p of the check's tests for drift, adjusted for their number."""
    values = [found.p if found.adjusted_p is None else found.adjusted_p for found in check.evidence]
    return min((value for value in values if value is not None), default=None)


def notes(check: CheckRecord) -> str:
    """What else is to be said: the likely causes of findings, codes of errors, what was not finished, enrolment."""
    telling = [found for found in check.evidence if found.verdict in (Verdict.DRIFT, Verdict.SUSPECT)]
    words = [f"{found.metric}: {causes}" for found in telling if (causes := cause_text(found.causes))]
    words += [part.run.error_code for part in check.runs if part.run.error_code]
    words += [part.run.status.value for part in check.runs if _is_cut_short(part)]
    if check.enrolled and mark(check) != _ENROLLED:
        words.append("enrolled")
    return "; ".join(dict.fromkeys(words))


def history_document(checks: Sequence[CheckRecord]) -> dict[str, Any]:
    return {"schema": SCHEMA, "items": [_item(check) for check in checks]}


def history_csv(checks: Sequence[CheckRecord]) -> str:
    """Text cells that a spreadsheet would read as a formula begin with an apostrophe; numbers are ours and stay."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for check in checks:
        fidelity = fidelity_of(check)
        interval = None if fidelity is None else fidelity.interval
        writer.writerow(
            [
                check.at.isoformat(),
                _text_cell(check.endpoint.provider),
                _text_cell(check.endpoint.model),
                _text_cell(check.endpoint.served_name),
                mark(check)[1].lower(),
                None if fidelity is None else fidelity.value,
                None if interval is None else interval.low,
                None if interval is None else interval.high,
                drift_p(check),
                check.tokens_in,
                check.tokens_out,
                None if check.cost_microusd is None else f"{check.cost_microusd / 1e6:.6f}",
                _text_cell(notes(check)),
                check.check_id,
                " ".join(part.run.id for part in check.runs),
            ]
        )
    return out.getvalue()


def _text_cell(text: str) -> str:
    plain = " ".join(safe_text(text).split())
    return f"'{plain}" if plain.startswith(_FORMULA_STARTS) else plain


def _models(checks: Sequence[CheckRecord]) -> dict[str, str]:
    """How each endpoint is called in this history: by its model, with its served name only where that tells apart."""
    endpoints = {check.endpoint.id: check.endpoint for check in checks}
    called = Counter(endpoint.model for endpoint in endpoints.values())
    return {
        name: one.model if called[one.model] == 1 else f"{one.model} as {one.served_name}"
        for name, one in endpoints.items()
    }


def _fidelity_cell(found: EvidenceRecord | None) -> str:
    if found is None:
        return "–"
    ends = None if found.interval is None else (found.interval.low, found.interval.high)
    return with_interval(number(found.value, "nat"), ends, "nat")


def _tokens_cell(check: CheckRecord) -> str:
    """`≥` where not all that was used is known."""
    if check.tokens is None:
        return "–"
    return f"{'' if check.all_told else '≥ '}{check.tokens}"


def _cost_cell(microusd: int | None) -> str:
    return "–" if microusd is None else f"${microusd / 1e6:.3g}"


def _is_cut_short(part: CheckRun) -> bool:
    return part.run.status in (RunStatus.PARTIAL, RunStatus.CANCELLED, RunStatus.EXPIRED)


def _item(check: CheckRecord) -> dict[str, Any]:
    return {
        "check_id": check.check_id,
        "at": check.at.isoformat(),
        "provider": check.endpoint.provider,
        "model": check.endpoint.model,
        "endpoint_id": check.endpoint.id,
        "served_name": check.endpoint.served_name,
        "verdict": None if check.verdict is None else check.verdict.value,
        "enrolled": check.enrolled,
        "fidelity": None if (found := fidelity_of(check)) is None else _evidence(found),
        "drift_p": drift_p(check),
        "tokens": check.tokens,
        "usd": _usd(check.cost_microusd),
        "runs": [_run(part) for part in check.runs],
    }


def _run(part: CheckRun) -> dict[str, Any]:
    run = part.run
    return {
        "run_id": run.id,
        "probe": run.probe.value,
        "status": run.status.value,
        "error": run.error_code,
        "trigger": run.trigger.value,
        "started_at": run.started_at.isoformat(),
        "finished_at": None if run.finished_at is None else run.finished_at.isoformat(),
        "planned": run.planned,
        "ok": run.n_ok,
        "bad": run.n_bad,
        "errors": run.n_err,
        "tokens_in": run.tokens_in,
        "tokens_out": run.tokens_out,
        "without_usage": run.n_without_usage,
        "usd": _usd(run.cost_microusd),
        "served_fingerprint": run.served_fingerprint,
        "reference": run.reference_fingerprint,
        "code_version": run.code_version,
        "baseline": None if part.baseline_role is None else part.baseline_role.value,
        "evidence": [_evidence(found) for found in part.evidence],
        **said_of(part.evidence).model_dump(mode="json"),
    }


def _evidence(found: EvidenceRecord) -> dict[str, Any]:
    return {
        "metric": found.metric,
        "verdict": found.verdict.value,
        "reason": found.reason,
        "counted": found.counted,
        "value": found.value,
        "unit": found.unit,
        "interval": None if found.interval is None else [found.interval.low, found.interval.high],
        "baseline": found.baseline,
        "detectable": found.detectable,
        "target": found.target,
        "p": found.adjusted_p,
        "n": found.n,
        "tokens": found.tokens,
        "causes": [{"name": cause.name, "weight": cause.weight} for cause in found.causes],
        "detector": f"{found.detector}/{found.detector_version}",
    }


def _usd(microusd: int | None) -> float | None:
    return None if microusd is None else microusd / 1e6
