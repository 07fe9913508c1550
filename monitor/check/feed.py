"""What a run tells its endpoint's streams: the answers to its anchors, and what it was found to be by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from monitor.drift.findings import Finding
from monitor.drift.listing import Listing
from monitor.drift.multiplicity import Family
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict


def listings_of(observations: Iterable[Observation]) -> tuple[Listing, ...]:
    """Of the anchors. When each answer came is the run's time: whoever stores the run knows it."""
    return tuple(Listing.of(one, 0.0) for one in observations if one.anchor)


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
