"""What a run tells its endpoint's streams: the answers to its anchors, and what it was found to be by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from monitor.drift.findings import Finding
from monitor.drift.listing import Listing
from monitor.drift.multiplicity import Family
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict

if TYPE_CHECKING:
    from monitor.drift.broken_calls import CaseCalls
    from monitor.drift.evidence import Evidence
    from monitor.drift.material import Material
    from probes.tools.scored import Scored


def listings_of(observations: Iterable[Observation]) -> tuple[Listing, ...]:
    """Of the anchors. When each answer came is the run's time: whoever stores the run knows it."""
    return tuple(Listing.of(one, 0.0) for one in observations if one.anchor)


def singles_of(endpoint_id: str, material: Material) -> tuple[Evidence, ...]:
    """Of prompts asked once, where the reference has weights: one that is an endpoint has noise of its own."""
    from monitor.drift.single_use import single_use_evidence

    if material.reference is None or material.reference.endpoint is not None:
        return ()
    found = single_use_evidence(endpoint_id, material.reference.base, material.new)
    return () if found is None else (found,)


def cases_of(answers: Sequence[Scored], anchors: Collection[str]) -> tuple[CaseCalls, ...]:
    """anchors: the keys of the cases that every run asks."""
    from monitor.drift.broken_calls import CaseCalls
    from monitor.drift.tool_metrics import broken_cases

    return tuple(CaseCalls(key, broken, key in anchors) for key, broken in broken_cases(answers).items())


def moved_most(findings: Mapping[str, Finding]) -> Finding | None:
    """Of what a probe found against the endpoint's own past, by the names of the checks, the least probable by chance,
    its p adjusted for the others; how many requests came through says nothing of the answers. Where nothing can be said
    of any, one that says why."""
    own = [finding for name, finding in findings.items() if name.partition(".")[2] != Family.AVAILABILITY]
    tested = [(finding.adjusted_p, place) for place, finding in enumerate(own) if finding.adjusted_p is not None]
    if tested:
        return replace(own[min(tested)[1]], p=None)
    return own[0] if own and _all_inapplicable(own) else None


def _all_inapplicable(findings: Sequence[Finding]) -> bool:
    return all(finding.verdict is Verdict.INAPPLICABLE for finding in findings)
