"""What a run that ends does to the baseline of its probe: opens it, joins it, or leaves it alone."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.check.judge import Judged
from monitor.check.ledger import Past
from monitor.drift.findings import Finding
from monitor.drift.rule import Verdict
from monitor.store import Enrol, Join
from probes.plan import ProbeKind


def baseline_change(past: Past, judged: Judged) -> Enrol | Join | None:
    """The first whole run with anything to compare enrols; one found unchanged joins while the baseline is open."""
    findings = {ProbeKind.LOGPROBS: judged.found.logprobs, ProbeKind.ACCOUNTING: judged.found.accounting}
    verdicts = [findings[probe].verdict for probe in judged.checks]
    if not judged.material.new or all(verdict is Verdict.INAPPLICABLE for verdict in verdicts):
        return None
    if past.baseline is None:
        return Enrol()
    moved = any(verdict in (Verdict.DRIFT, Verdict.SUSPECT) for verdict in verdicts)
    unchanged = verdicts[0] is Verdict.OK and not moved and judged.may_join
    return Join(past.baseline.id) if unchanged and past.open_for_more else None


def wide_baseline_change(past: Past, findings: Iterable[Finding], *, answered: bool) -> Enrol | Join | None:
    """Of tool calls, agent loops and the protocol. As for the other probes, but a run of which too little can be told
    joins as well: each asks a part of the cases, and rare kinds of answers need many runs."""
    if not answered:
        return None
    if past.baseline is None:
        return Enrol()
    moved = any(finding.verdict in (Verdict.DRIFT, Verdict.SUSPECT) for finding in findings)
    return Join(past.baseline.id) if past.open_for_more and not moved else None


def eval_baseline_change(past: Past, drift: Verdict, *, new: bool) -> Enrol | Join | None:
    """One baseline has the runs of all versions of a suite: what is mostly new to it joins, as a first run enrols."""
    if past.baseline is None:
        return Enrol()
    unchanged = drift not in (Verdict.DRIFT, Verdict.SUSPECT) if new else drift is Verdict.OK
    return Join(past.baseline.id) if unchanged else None
