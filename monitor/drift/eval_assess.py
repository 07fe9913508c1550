"""What the marks of eval items say of an endpoint: has it changed, and how far is it from its reference?

Items are compared with themselves only, so that a suite that was changed still tells of what both versions ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from monitor.drift.findings import Finding
from monitor.drift.paired_items import Marks, PairedItems, compare_items
from monitor.drift.rule import DRIFT_P, SUSPECT_P, Verdict, holm
from monitor.drift.ternary import Difference, Margin, Outcome, detectable, outcome

RATE = "rate"
# Of fewer items on both sides nothing is concluded.
LEAST_ITEMS = 8
# Better than it was is another model as well.
MARGIN = Margin(0.03, one_sided=False)


@dataclass(frozen=True, slots=True)
class EvalAssessment:
    """`drift` is against the endpoint's accepted runs, `fidelity` against its reference: a standing finding, never
    `drift`."""

    drift: Finding
    fidelity: Finding


def assess_evals(
    now: Marks, *, past: Sequence[Marks], reference: Marks, no_past: Finding, no_reference: Finding
) -> EvalAssessment:
    """`past` are the accepted runs; `no_past` and `no_reference` what is said where there is none of them to compare
    with. Both findings are adjusted together, by Holm."""
    drift = _against(now, *past) if past else no_past
    fidelity = _against(now, reference) if reference else no_reference
    adjusted = holm({name: one.p for name, one in (("drift", drift), ("fidelity", fidelity)) if one.p is not None})
    return EvalAssessment(_judged(drift, adjusted.get("drift")), _standing(_judged(fidelity, adjusted.get("fidelity"))))


def _against(now: Marks, *others: Marks) -> Finding:
    """Not judged yet by its p."""
    found = compare_items(now, *others)
    items = 0 if found is None else found.items
    if found is None or found.difference is None or items < LEAST_ITEMS:
        why = f"{items} item{'' if items == 1 else 's'} in common, and {LEAST_ITEMS} are needed"
        return Finding(Verdict.INCONCLUSIVE, why, unit=RATE, n=items)
    return _finding(found, found.difference)


def _finding(found: PairedItems, moved: Difference) -> Finding:
    """That single items changed is no matter as long as they make no difference of the rate beyond the margin."""
    said = outcome(moved, MARGIN)
    return Finding(
        verdict=Verdict.OK if said is Outcome.PASS else Verdict.INCONCLUSIVE,
        reason=f"{len(found.gained)} items gained, {len(found.lost)} lost",
        value=moved.value,
        unit=RATE,
        interval=moved.interval,
        baseline=found.there.value,
        detectable=detectable(moved),
        target=MARGIN.width,
        p=found.p if said is Outcome.FAIL else 1.0,
        n=found.items,
    )


def _judged(finding: Finding, p: float | None) -> Finding:
    if p is None:
        return finding
    proven = Verdict.DRIFT if p <= DRIFT_P else Verdict.SUSPECT if p <= SUSPECT_P else finding.verdict
    return replace(finding, verdict=proven, adjusted_p=p)


def _standing(finding: Finding) -> Finding:
    """To differ from the reference is said once, and is no event."""
    return replace(finding, verdict=Verdict.SUSPECT) if finding.verdict is Verdict.DRIFT else finding
