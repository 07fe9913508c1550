"""The verdict as JUnit XML: one test case a check, so that a pipeline shows drift as a failing test."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from monitor.drift.rule import Verdict
from monitor.redaction import safe_text
from monitor.render.wording import (
    cause_text,
    check_value,
    fidelity_text,
    p_text,
    protocol_rows,
    said_tables,
)
from monitor.verdict import Check, FailOn, VerdictDocument, fails


def junit(document: VerdictDocument, fail_on: FailOn) -> str:
    """`failure` is what the exit code fails on; what could not be concluded is `skipped`, never a pass. The suite's
    properties are what is said beside the checks."""
    suite = ElementTree.Element("testsuite", name=f"{document.provider}/{document.model}")
    _add_properties(suite, document)
    for check in document.checks:
        _case(suite, document, check.probe, check.verdict, _message(check), fail_on)
    fidelity = document.fidelity
    _case(suite, document, "fidelity", fidelity.verdict, fidelity_text(fidelity), fail_on)
    suite.set("tests", str(len(suite.findall("./testcase"))))
    suite.set("failures", str(len(suite.findall("./testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("./testcase/skipped"))))
    suite.set("timestamp", document.started_at.isoformat())
    suite.set("time", f"{(document.finished_at - document.started_at).total_seconds():.3f}")
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _add_properties(suite: ElementTree.Element, document: VerdictDocument) -> None:
    found = list(_properties(document))
    if not found:
        return
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in found:
        ElementTree.SubElement(properties, "property", name=safe_text(name), value=safe_text(value))


def _properties(document: VerdictDocument) -> Iterator[tuple[str, str]]:
    for names, rows in said_tables(document):
        kind, first, *others = names
        for name, value, *cells in rows:
            told = [f"{other} {cell}" for other, cell in zip(others, cells, strict=True) if cell]
            yield f"{kind} {name}", "; ".join([f"{first} {value}", *told])
    if document.protocol is not None:
        yield from protocol_rows(document.protocol)


def _message(check: Check) -> str:
    words = [check_value(check), f"p {p_text(check.p)}", check.reason, cause_text(check.causes)]
    return "; ".join(word for word in words if word)


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
