"""The verdict as JUnit XML: one test case a check, so that a pipeline shows drift as a failing test."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from monitor.drift.rule import Verdict
from monitor.redaction import safe_text
from monitor.render.beside import protocol_rows, tables_of
from monitor.render.checks import CHANGED, RIGHT, fidelity_note, is_standing, note_of
from monitor.render.conclusion import conclusion
from monitor.render.latency import latency_text
from monitor.render.measures import measures
from monitor.render.rates import left_out_text, main_rates, rate_text, reference_text
from monitor.render.wording import cost_text, with_interval, with_unit
from monitor.verdict import Check, FailOn, FidelityStatement, RateValue, VerdictDocument, fails

# What is told of otherwise than as rows of a table.
_OTHERWISE = frozenset({"rate", "protocol"})


def junit(document: VerdictDocument, fail_on: FailOn) -> str:
    """`failure` is what the exit code fails on; what could not be concluded is `skipped`, never a pass. The suite's
    properties are what is said beside the checks."""
    suite = ElementTree.Element("testsuite", name=f"{document.provider}/{document.model}")
    _add_properties(suite, document)
    for check in document.checks:
        times = latency_text(document) if check.probe == "latency" else ""
        _case(suite, document, check.probe, check.verdict, _message(check, times), fail_on)
    fidelity = document.fidelity
    _case(suite, document, "fidelity", fidelity.verdict, _standing(fidelity), fail_on)
    suite.set("tests", str(len(suite.findall("./testcase"))))
    suite.set("failures", str(len(suite.findall("./testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("./testcase/skipped"))))
    suite.set("timestamp", document.started_at.isoformat())
    suite.set("time", f"{(document.finished_at - document.started_at).total_seconds():.3f}")
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _add_properties(suite: ElementTree.Element, document: VerdictDocument) -> None:
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(document):
        ElementTree.SubElement(properties, "property", name=safe_text(name), value=safe_text(value))


def _properties(document: VerdictDocument) -> Iterator[tuple[str, str]]:
    yield "conclusion", conclusion(document)
    yield "cost", cost_text(document.cost)
    rates = main_rates(document.rates)
    yield from (_rate(rate) for rate in rates if rate.denominator)
    if empty := [rate.name for rate in rates if not rate.denominator]:
        yield "rates of nothing", f"not asked, or no such answers: {', '.join(empty)}"
    for table in tables_of(document):
        for row in () if table.kind in _OTHERWISE else table.rows:
            told = [f"{name} {cell}" for name, cell in zip(table.names[1:], row.cells[1:], strict=True) if cell]
            yield f"{table.kind} {row.cells[0]}", "; ".join([*told, *[row.note] * bool(row.note)])
    if document.protocol is not None:
        yield from protocol_rows(document.protocol)


def _rate(rate: RateValue) -> tuple[str, str]:
    told = [rate_text(rate), f"{rate.numerator:g}/{rate.denominator}"]
    further = (("reference ", reference_text(rate)), ("left out: ", left_out_text(rate)))
    return f"rate {rate.name}", "; ".join([*told, *(name + text for name, text in further if text)])


def _message(check: Check, times: str) -> str:
    found = measures(check)
    names = (RIGHT if is_standing(check.probe) else CHANGED)[2:]
    told = [f"{name} {cell}" for name, cell in zip(names, (found.now, found.before, found.moved), strict=True) if cell]
    return "; ".join([*told, note_of(check, times)])


def _standing(fidelity: FidelityStatement) -> str:
    if fidelity.value is None:
        return fidelity_note(fidelity)
    apart = with_interval(with_unit(fidelity.value, fidelity.unit), fidelity.interval, fidelity.unit)
    return f"apart {apart}; {fidelity_note(fidelity)}"


def _case(
    suite: ElementTree.Element, document: VerdictDocument, name: str, verdict: Verdict, message: str, fail_on: FailOn
) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=f"{document.provider}.{document.model}", name=name)
    text = safe_text(f"{verdict.value}: {message}")
    if fails(verdict, fail_on):
        ElementTree.SubElement(case, "failure", type=verdict.value, message=text)
    elif verdict in (Verdict.INCONCLUSIVE, Verdict.INAPPLICABLE):
        ElementTree.SubElement(case, "skipped", message=text)
    else:
        ElementTree.SubElement(case, "system-out").text = text
