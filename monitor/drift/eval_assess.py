"""What the marks of eval items say of an endpoint: has it changed, and how far is it from its reference?

Items are compared with themselves only, so that a suite that was changed still tells of what both versions ask.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from monitor.drift.findings import Finding
from monitor.drift.paired_items import Marks, PairedItems, compare_items
from monitor.drift.rule import Verdict
from monitor.drift.ternary import Difference, Margin, Outcome, detectable, outcome, verdict

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
    now: Marks, *, past: Marks, reference: Marks, no_past: Finding, no_reference: Finding
) -> EvalAssessment:
    """`no_past` and `no_reference` are what is said where there is none of them to compare with."""
    drift = _against(now, past) if past else no_past
    fidelity = _against(now, reference) if reference else no_reference
    return EvalAssessment(drift, _standing(fidelity))


def _against(now: Marks, other: Marks) -> Finding:
    found = compare_items(now, other)
    items = 0 if found is None else found.items
    if found is None or found.difference is None or items < LEAST_ITEMS:
        why = f"{items} item{'' if items == 1 else 's'} in common, and {LEAST_ITEMS} are needed"
        return Finding(Verdict.INCONCLUSIVE, why, unit=RATE, n=items)
    return _finding(found, found.difference)


def _finding(found: PairedItems, moved: Difference) -> Finding:
    """That single items changed is no matter as long as they make no difference of the rate beyond the margin."""
    said = outcome(moved, MARGIN)
    p = found.p if said is Outcome.FAIL else 1.0
    return Finding(
        verdict=verdict([said], p),
        reason=f"{len(found.gained)} items gained, {len(found.lost)} lost",
        value=moved.value,
        unit=RATE,
        interval=moved.interval,
        baseline=found.there.value,
        detectable=detectable(moved),
        target=MARGIN.width,
        p=found.p,
        adjusted_p=p,
        n=found.items,
    )


def _standing(finding: Finding) -> Finding:
    """To differ from the reference is said once, and is no event."""
    return replace(finding, verdict=Verdict.SUSPECT) if finding.verdict is Verdict.DRIFT else finding
